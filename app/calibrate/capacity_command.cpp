#include "app/calibrate/capacity_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <utility>

#include "app/calibrate/calibrate_command.h"
#include "app/config/config.h"
#include "app/config/exit_status.h"
#include "app/control/known_stream.h"
#include "app/control/load_process.h"
#include "app/control/sent_stream.h"
#include "app/placement/capacity.h"
#include "app/placement/missing_gpus.h"
#include "app/placement/uses_json.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/gpu.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr auto longest_open = std::chrono::seconds(10);

std::optional<KnownStream> assumed_stream(const std::string& text) {
  static const std::regex form(R"((h264|hevc|mjpeg):([0-9]{2,5})x([0-9]{2,5})@([0-9]{1,4}(\.[0-9]{1,3})?))");
  std::smatch parts;
  if (!std::regex_match(text, parts, form)) return std::nullopt;
  const KnownStream stream{parts[1], std::stoi(parts[2]), std::stoi(parts[3]), std::stod(parts[4])};
  const bool possible = stream.width >= 16 && stream.width <= 16384 && stream.height >= 16 && stream.height <= 16384;
  return possible && stream.rate > 0 ? std::optional(stream) : std::nullopt;
}

// What the sources of a rig send, and what its cameras become by that.
struct Streams {
  KnownStreams known;
  std::vector<std::string> assumed;   // live cameras: nobody is asked
  std::vector<std::string> problems;  // files that cannot be read
};

Streams look_at_sources(RigConfig& rig, const KnownStream& assume) {
  Streams streams;
  for (CameraConfig& camera : rig.cameras) {
    if (!camera.enabled || camera.mosaic) continue;
    if (!source_kind_of(camera.source.url).tried_at_check) {
      KnownStream stream = assume;
      const CaptureConfig& capture = camera.source.capture;
      if (capture.width > 0 && capture.height > 0) stream.width = capture.width, stream.height = capture.height;
      if (capture.rate > 0) stream.rate = capture.rate;
      streams.known[camera.name] = stream;
      streams.assumed.push_back(camera.name);
      continue;
    }
    try {
      const Deadline deadline = Clock::now() + longest_open;
      const auto source = open_source(camera.source, [&] { return Clock::now() > deadline; });
      const KnownStream known = known_stream(source->stream());
      if (known.width <= 0 || known.height <= 0) throw Error("the size of its frames is not known");
      streams.known[camera.name] = known;
      if (depends_on_stream(camera)) camera = resolved(camera, sent_stream(source->stream(), nullptr));
    } catch (const std::exception& error) {
      streams.problems.push_back(fmt::format("{}: {}", camera.name, error.what()));
    }
  }
  return streams;
}

// Measured where it is not, unless it shall be estimated.
MachineCosts costs_for(const Devices& devices, bool estimate) {
  MachineCosts costs = load_machine_costs(devices);
  const bool cpu = costs.cpu.estimated();
  std::vector<Gpu> gpus;
  for (std::size_t g = 0; g < devices.gpus.size(); ++g) {
    if (costs.gpus[g].estimated() && devices.gpus[g].problem.empty()) gpus.push_back(devices.gpus[g]);
  }
  for (const std::string& reason : costs.reasons) std::cerr << "campipe: " << reason << '\n';
  if (estimate || (!cpu && gpus.empty())) return costs;
  std::cerr << "campipe: measuring now, about a minute for each device\n";
  for (DeviceCosts& measured : measure_and_keep(cpu, gpus)) {
    if (measured.key.device == "cpu") {
      costs.cpu = std::move(measured);
      continue;
    }
    const auto place = std::ranges::find_if(costs.gpus, [&](const auto& of) { return of.key == measured.key; });
    if (place != costs.gpus.end()) *place = std::move(measured);
  }
  costs.reasons.clear();
  return costs;
}

std::string origin(const DeviceCosts& costs) {
  return costs.estimated() ? "estimated, not measured" : "measured " + costs.measured;
}

std::string machine_text(const Machine& machine, const MachineCosts& costs) {
  std::string text = fmt::format("CPU: {}, {} cores", costs.cpu.key.name, machine.cpus.size());
  if (machine.cores() < static_cast<double>(machine.cpus.size()))
    text += fmt::format(", of which a cgroup allows {:.2g}", machine.cores());
  text += fmt::format(", {} MiB; costs {}\n", machine.limits.usable_memory() >> 20, origin(costs.cpu));
  for (std::size_t g = 0; g < machine.devices.gpus.size(); ++g) {
    const Gpu& gpu = machine.devices.gpus[g];
    if (gpu.awaited) continue;
    text += fmt::format("GPU {}: {}, {} MiB; costs {}\n", gpu.index, gpu.name, gpu.memory_mib, origin(costs.gpus[g]));
  }
  return text;
}

std::string bar(const ResourceUse& use) {
  return fmt::format("{:>5.0f} %  {}", 100 * std::min(use.part(), 99.0), describe(use));
}

// The busiest threads only: each camera has two.
bool is_told(const ResourceUse& use, int& threads) { return use.resource != Resource::thread || threads++ < 3; }

void print(const Capacity& capacity, const Machine& machine, const MachineCosts& costs, const Streams& streams) {
  std::cout << machine_text(machine, costs) << "\nwhat the rig takes\n";
  int threads = 0;
  for (const ResourceUse& use : capacity.uses) {
    if (is_told(use, threads)) std::cout << "  " << bar(use) << '\n';
  }
  std::cout << "\nhow many more of each camera fit\n";
  for (const CameraRoom& room : capacity.cameras) {
    const bool assumed = std::ranges::find(streams.assumed, room.camera) != streams.assumed.end();
    const KnownStream& stream = streams.known.find(room.camera)->second;
    const std::string what = fmt::format("{} {}x{} @ {:g}{}", stream.codec, stream.width, stream.height, stream.rate,
                                         assumed ? " (assumed)" : "");
    const std::string end = room.bottleneck.empty() ? "as many as a rig has" : room.bottleneck + ": " + room.reason;
    std::cout << fmt::format("  {:<16} {:<34} {:>4}  {}\n", room.camera, what, room.more, end);
  }
}

json to_json(const Capacity& capacity, const Machine& machine, const MachineCosts& costs, const Streams& streams) {
  json shortage_list = json::array();
  for (const ResourceUse& use : shortages(capacity.uses)) shortage_list.push_back(describe(use));
  json cameras = json::object();
  for (const CameraRoom& room : capacity.cameras) {
    const KnownStream& stream = streams.known.find(room.camera)->second;
    const bool assumed = std::ranges::find(streams.assumed, room.camera) != streams.assumed.end();
    cameras[room.camera] = {{"codec", stream.codec}, {"width", stream.width},        {"height", stream.height},
                            {"rate", stream.rate},   {"assumed", assumed},           {"more", room.more},
                            {"reason", room.reason}, {"bottleneck", room.bottleneck}};
  }
  json gpus = json::array();
  for (const DeviceCosts& gpu : costs.gpus)
    gpus.push_back({{"uuid", gpu.key.device}, {"name", gpu.key.name}, {"measured", gpu.measured}});
  return {{"cpu", {{"name", costs.cpu.key.name}, {"cores", machine.cores()}, {"measured", costs.cpu.measured}}},
          {"gpus", gpus},
          {"uses", uses_json(capacity.uses)},
          {"short", shortage_list},
          {"cameras", cameras}};
}

}  // namespace

std::string check_assumed_stream(const std::string& text) {
  return assumed_stream(text)
             ? ""
             : "expected a stream of h264, hevc or mjpeg such as h264:1920x1080@25, not '" + text + "'";
}

int run_capacity(const CapacityOptions& options) {
  LoadedConfig loaded = load_config_apart(options.config, nullptr);
  for (const ConfigError& error : loaded.errors) std::cerr << format(error, options.config) << '\n';
  if (!loaded.errors.empty()) return usage_error;
  Machine machine = this_machine();
  if (may_use_gpus(loaded.rig)) machine.devices = probe_devices(probe_for_people, loaded.rig.mps);
  const GpuFindings gpus = check_gpus(loaded, machine);
  for (const ConfigError& error : gpus.mistakes) std::cerr << format(error, options.config) << '\n';
  if (!gpus.mistakes.empty()) return usage_error;
  for (const ConfigError& condition : gpus.conditions)
    std::cerr << "not now: " << format(condition, options.config) << '\n';
  const Streams streams = look_at_sources(loaded.rig, *assumed_stream(options.assume));
  for (const std::string& problem : streams.problems) std::cerr << "campipe: not counted: " << problem << '\n';
  const MachineCosts costs = costs_for(machine.devices, options.estimate);
  add_missing_gpus(machine.devices, loaded.rig);
  const Capacity capacity = find_capacity(loaded.rig, machine, costs, streams.known);
  if (options.json) {
    std::cout << to_json(capacity, machine, costs, streams).dump(2) << '\n';
  } else {
    print(capacity, machine, costs, streams);
  }
  return 0;
}

}  // namespace campipe
