#include "app/calibrate/calibrate_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/calibrate/calibrate.h"
#include "app/config/exit_status.h"
#include "app/costs/cost_cache.h"
#include "app/placement/machine_costs.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/text_columns.h"

namespace campipe {
namespace {

// On a terminal one line that changes; else nothing: it would be a hundred.
void show(const std::string& device, const std::string& what) {
  if (::isatty(STDERR_FILENO) == 0) return;
  std::cerr << "\r\x1b[K" << (what.empty() ? "" : device + ": " + what) << std::flush;
}

std::string title(const Gpu* gpu) { return gpu == nullptr ? "CPU" : fmt::format("GPU {}", gpu->index); }

// `gpu`: null: the CPU.
DeviceCosts measure(const Gpu* gpu) {
  const auto progress = [&](const std::string& what) { show(title(gpu), what); };
  DeviceCosts costs;
  if (gpu == nullptr) {
    costs = measure_cpu(cpu_key(), progress);
  } else if constexpr (with_cuda) {
    costs = measure_gpu(key_of(*gpu), gpu->device, progress);
  }
  show("", "");
  return costs;
}

std::vector<CostComparison> compare(const Gpu* gpu, const DeviceCosts& costs) {
  const auto progress = [&](const std::string& what) { show(title(gpu), what); };
  std::vector<CostComparison> all;
  if (gpu == nullptr) {
    all = compare_cpu(costs, progress);
  } else if constexpr (with_cuda) {
    all = compare_gpu(costs, gpu->device, progress);
  }
  show("", "");
  return all;
}

void print(const Gpu* gpu, const DeviceCosts& costs) {
  std::cout << fmt::format("{}: {} ({})\n", title(gpu), costs.key.name,
                           costs.key.driver.empty() ? "unknown driver" : costs.key.driver);
  constexpr double full_hd = 1920 * 1080 / 1e6;
  for (const WorkCost& cost : costs.work) {
    const double first = cost.curves.front().parameter, last = cost.curves.back().parameter;
    const auto at = [&](double parameter) { return cost_us(costs, Work{cost.work, full_hd, parameter}).value_or(0); };
    std::string line = fmt::format("  {:<16} {:>10.1f}", cost.work, at(first));
    if (first != last) line += fmt::format(" ({:g}) to {:.1f} ({:g})", first, at(last), last);
    std::cout << line << " us\n";
  }
}

std::string kind_of(const CostComparison& compared) { return compared.what.substr(0, compared.what.find(' ')); }

void print(const std::vector<CostComparison>& all) {
  std::cout << fmt::format("  {:>12} {:>12} {:>8}\n", "predicted us", "measured us", "error");
  for (const CostComparison& one : all) {
    std::cout << fmt::format("  {:>12.1f} {:>12.1f} {:>+7.1f}%  {}\n", one.predicted_us, one.measured_us,
                             100 * (one.predicted_us / one.measured_us - 1), one.what);
  }
  for (const char* kind : {"filter", "decode", "encode", "preset"}) {
    std::vector<double> factors;
    for (const CostComparison& one : all) {
      if (kind_of(one) == kind) factors.push_back(one.factor());
    }
    if (factors.empty()) continue;
    std::ranges::sort(factors);
    std::cout << fmt::format("  {}: half of {} within a factor of {:.2f}, nine tenths {:.2f}, the worst {:.2f}\n", kind,
                             factors.size(), factors[factors.size() / 2], factors[factors.size() * 9 / 10],
                             factors.back());
  }
}

nlohmann::json to_json(const std::vector<CostComparison>& all) {
  nlohmann::json list = nlohmann::json::array();
  for (const CostComparison& one : all)
    list.push_back({{"what", one.what}, {"predicted_us", one.predicted_us}, {"measured_us", one.measured_us}});
  return list;
}

struct Chosen {
  bool cpu = false;
  std::vector<Gpu> gpus;
};

Chosen choose(const CalibrateOptions& options) {
  const bool all = options.devices.empty();
  const bool only_cpu = !all && std::ranges::all_of(options.devices, [](const auto& name) { return name == "cpu"; });
  const Devices devices = only_cpu ? Devices() : probe_devices(probe_for_people);
  Chosen chosen;
  chosen.cpu = all;
  if (all)
    std::ranges::copy_if(devices.gpus, std::back_inserter(chosen.gpus), [](const Gpu& g) { return g.problem.empty(); });
  for (const std::string& name : options.devices) {
    if (name == "cpu") {
      chosen.cpu = true;
      continue;
    }
    const Gpu* gpu = find_gpu(devices, name);
    if (gpu == nullptr) {
      const std::string there = devices.gpus.empty() ? "none (" + devices.problem + ")" : list_gpus(devices);
      throw Error(fmt::format("--device {}: there is no such GPU; there are: {}", name, there));
    }
    chosen.gpus.push_back(*gpu);
  }
  return chosen;
}

void keep(const std::vector<DeviceCosts>& measured) {
  const auto file = costs_file();
  if (!file) {
    std::cerr << "campipe: not kept: neither XDG_CACHE_HOME nor HOME names a folder\n";
    return;
  }
  if (const CostCache before = read_costs(*file); !before.problem.empty())
    std::cerr << "campipe: " << before.problem << "; it is replaced\n";
  write_costs(*file, measured);
}

}  // namespace

std::vector<DeviceCosts> measure_and_keep(bool cpu, const std::vector<Gpu>& gpus) {
  std::vector<DeviceCosts> measured;
  if (cpu) measured.push_back(measure(nullptr));
  for (const Gpu& gpu : gpus) measured.push_back(measure(&gpu));
  keep(measured);
  return measured;
}

int run_calibrate_costs(const CalibrateOptions& options) {
  Chosen chosen;
  try {
    chosen = choose(options);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return usage_error;
  }
  const std::vector<DeviceCosts> measured = measure_and_keep(chosen.cpu, chosen.gpus);
  nlohmann::json compared = nlohmann::json::object();
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const bool is_cpu = chosen.cpu && i == 0;
    const Gpu* const gpu = is_cpu ? nullptr : &chosen.gpus[i - (chosen.cpu ? 1 : 0)];
    if (!options.json) print(gpu, measured[i]);
    if (!options.check) continue;
    const std::vector<CostComparison> all = compare(gpu, measured[i]);
    if (!options.json) print(all);
    compared[measured[i].key.device] = to_json(all);
  }
  if (options.json) {
    nlohmann::json all = nlohmann::json::parse(costs_text(measured));
    if (options.check) all["compared"] = compared;
    std::cout << all.dump(2) << '\n';
  } else if (const auto file = costs_file()) {
    std::cout << "for a frame of 1920x1080; kept in " << file->string() << '\n';
  }
  return 0;
}

}  // namespace campipe
