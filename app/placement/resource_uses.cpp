#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "app/costs/codec_work.h"
#include "app/placement/capacity.h"
#include "core/gpu.h"

namespace campipe {
namespace {

// Which part of it a rig can use before frames are late now and then. Of cores: 58 cameras on 16 cores used 14 of them
// and dropped nothing, 60 dropped (docs/performance.md).
constexpr double usable_cores = 0.9;
constexpr double usable_decode = 0.95;
constexpr double usable_gpu_time = 0.9;
constexpr double usable_memory = 0.9;
constexpr double usable_bus = 0.8;
constexpr double usable_thread = 0.95;
// The kernel and its caches need the rest.
constexpr double lockable_memory = 0.5;
// What estimated costs may be off by.
constexpr double doubt = 2;

constexpr std::array names{"decode",     "GPU time",           "cores", "one thread", "memory",
                           "GPU memory", "page-locked memory", "bus",   "descriptors"};

constexpr std::array of_gpus{Resource::decode, Resource::gpu_time, Resource::gpu_memory, Resource::bus};

// 3100.26, 1 → "3,100.3"
std::string thousands(double number, int decimals) {
  std::string text = fmt::format("{:.{}f}", number, decimals);
  for (auto at = static_cast<std::ptrdiff_t>(std::min(text.find('.'), text.size())) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

struct Unit {
  double of_it = 1;
  bool whole = true;
  std::string_view text;
};

Unit unit_of(Resource resource) {
  switch (resource) {
    case Resource::decode:
      return {1, true, " Mpx/s of decode"};
    case Resource::gpu_time:
      return {0.01, true, " % of a GPU's time for filters"};
    case Resource::cores:
      return {1, false, " cores"};
    case Resource::thread:
      return {0.01, true, " % of one thread"};
    case Resource::memory:
      return {1 << 20, true, " MiB of memory"};
    case Resource::gpu_memory:
      return {1 << 20, true, " MiB of GPU memory"};
    case Resource::locked_memory:
      return {1 << 20, true, " MiB of page-locked memory"};
    case Resource::bus:
      return {1e6, true, " MB/s between host and GPU"};
    case Resource::descriptors:
      return {1, true, " descriptors"};
  }
  return {};
}

struct Amounts {
  std::string needs;
  std::string has;
};

// What is short is seen to be: with as many decimals as that takes.
Amounts amounts(const ResourceUse& use, const Unit& unit) {
  constexpr int most_decimals = 6;
  for (int decimals = unit.whole ? 0 : 1;; ++decimals) {
    Amounts texts{thousands(use.needs / unit.of_it, decimals), thousands(use.has / unit.of_it, decimals)};
    if (use.needs <= use.has || texts.needs != texts.has || decimals == most_decimals) return texts;
  }
}

ResourceUse cores_use(const RigNeeds& needs, const Machine& machine, const MachineCosts& costs) {
  const CoreNeeds& cores = needs.cores;
  ResourceUse use{Resource::cores, "", cores.sum(), usable_cores * machine.cores(), costs.cpu.estimated()};
  use.parts = fmt::format("decoding {:.1f}, filters {:.1f}, encoding {:.1f}, the rest {:.1f}", cores.decode,
                          cores.filter, cores.encode, cores.rest);
  return use;
}

// Of frames of 1080p, bytes a second.
double bus_rate(const DeviceCosts& costs, Work (*work)(const FrameFormat&)) {
  FrameFormat frame;
  frame.width = 1920;
  frame.height = 1080;
  const auto us = cost_us(costs, work(frame));
  return us ? 1.5 * frame.width * frame.height / *us * 1e6 : 0;
}

void add_gpu(std::vector<ResourceUse>& uses, const GpuNeeds& needs, const Gpu& gpu, const DeviceCosts& costs) {
  const std::string where = fmt::format("GPU {}", gpu.index);
  const bool estimated = costs.estimated();
  // In pixels, by what this rig's codecs and sizes take of its decoders.
  if (needs.decode > 0) {
    const double all = needs.decode_megapixels / needs.decode;
    uses.push_back({Resource::decode, where, needs.decode_megapixels, usable_decode * all, estimated});
  }
  uses.push_back({Resource::gpu_time, where, needs.busy, usable_gpu_time, estimated});
  const double memory = static_cast<double>(gpu.memory_mib) * (1 << 20);
  uses.push_back({Resource::gpu_memory, where, needs.memory, usable_memory * memory});
  for (const auto& [bytes, rate] :
       {std::pair(needs.up, bus_rate(costs, upload_work)), std::pair(needs.down, bus_rate(costs, download_work))}) {
    if (bytes > 0 && rate > 0) uses.push_back({Resource::bus, where, bytes, usable_bus * rate, estimated});
  }
}

// "the machine's GPUs" lack it only together.
ResourceUse together(const std::vector<ResourceUse>& all) {
  ResourceUse sum = all.front();
  sum.where = "GPUs";
  for (std::size_t i = 1; i < all.size(); ++i) {
    sum.needs += all[i].needs;
    sum.has += all[i].has;
    sum.estimated = sum.estimated || all[i].estimated;
  }
  return sum;
}

bool is_short(const ResourceUse& use) { return use.needs > use.has * (use.estimated ? doubt : 1); }

}  // namespace

std::string_view name_of(Resource resource) { return names.at(static_cast<std::size_t>(resource)); }

std::vector<ResourceUse> resource_uses(const RigNeeds& needs, const Machine& machine, const MachineCosts& costs) {
  std::vector<ResourceUse> uses{cores_use(needs, machine, costs)};
  for (const GpuNeeds& gpu : needs.gpus) {
    const Gpu* found = find_gpu(machine.devices, gpu.gpu);
    const bool used = gpu.memory > 0;
    if (found != nullptr && used) add_gpu(uses, gpu, *found, costs.of(gpu.gpu));
  }
  for (const ThreadNeeds& thread : needs.threads) {
    const bool estimated = costs.cpu.estimated() || (thread.on_gpu && !costs.gpus.empty() && costs.gpus[0].estimated());
    uses.push_back({Resource::thread, thread.name, thread.busy, usable_thread, estimated});
  }
  const auto memory = static_cast<double>(machine.limits.usable_memory());
  if (memory > 0) uses.push_back({Resource::memory, "", needs.memory, usable_memory * memory});
  if (memory > 0 && needs.locked_memory > 0)
    uses.push_back({Resource::locked_memory, "", needs.locked_memory, lockable_memory * memory});
  if (machine.limits.descriptors > 0) {
    uses.push_back({Resource::descriptors, "the " + needs.descriptors.process,
                    static_cast<double>(needs.descriptors.count), static_cast<double>(machine.limits.descriptors)});
  }
  std::ranges::stable_sort(uses, std::ranges::greater(), &ResourceUse::part);
  return uses;
}

std::vector<ResourceUse> shortages(const std::vector<ResourceUse>& uses) {
  std::vector<ResourceUse> all;
  for (const Resource resource : of_gpus) {
    std::vector<ResourceUse> of_each;
    std::ranges::copy_if(uses, std::back_inserter(of_each),
                         [&](const ResourceUse& use) { return use.resource == resource; });
    if (of_each.size() > 1 && resource != Resource::bus && is_short(together(of_each))) {
      all.push_back(together(of_each));
    } else {
      std::ranges::copy_if(of_each, std::back_inserter(all), is_short);
    }
  }
  std::ranges::copy_if(uses, std::back_inserter(all), [](const ResourceUse& use) {
    const bool of_gpu = std::ranges::find(of_gpus, use.resource) != of_gpus.end();
    return !of_gpu && is_short(use);
  });
  std::ranges::stable_sort(all, std::ranges::greater(), &ResourceUse::part);
  std::ranges::stable_partition(all, [](const ResourceUse& use) { return use.resource != Resource::thread; });
  return all;
}

std::string describe(const ResourceUse& use) {
  const Unit unit = unit_of(use.resource);
  const auto [needs, has] = amounts(use, unit);
  const std::string doubt_text = use.estimated ? " (estimated; `campipe calibrate-costs` measures it)" : "";
  const std::string parts = use.parts.empty() ? "" : " (" + use.parts + ")";
  if (use.resource == Resource::thread)
    return fmt::format("{} needs {}{}, and can use {}{}", use.where, needs, unit.text, has, doubt_text);
  if (use.resource == Resource::descriptors)
    return fmt::format("{} needs {}{}; the limit is {} (ulimit -Hn, LimitNOFILE=)", use.where, needs, unit.text, has);
  if (use.where == "GPUs")
    return fmt::format("needs {}{}; the machine's GPUs have {}{}", needs, unit.text, has, doubt_text);
  const std::string owner = use.where.empty() ? "the machine has" : use.where + " has";
  return fmt::format("needs {}{}{}; {} {} to use{}", needs, unit.text, parts, owner, has, doubt_text);
}

std::string describe(const std::vector<ResourceUse>& shortages) {
  std::string text;
  for (const ResourceUse& use : shortages) text += (text.empty() ? "" : "; ") + describe(use);
  return text;
}

}  // namespace campipe
