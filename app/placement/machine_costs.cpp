#include "app/placement/machine_costs.h"

#include <algorithm>

#include "app/costs/estimates.h"
#include "core/gpu.h"

namespace campipe {
namespace {

using Estimate = DeviceCosts (*)(const CostKey&);

DeviceCosts costs_or_estimate(const CostCache& cache, const CostKey& key, Estimate estimate, MachineCosts& all) {
  auto found = find_costs(cache, key);
  if (auto* const measured = std::get_if<DeviceCosts>(&found)) {
    // What could not be measured, as FFmpeg had no encoder for it, does not cost nothing.
    for (const WorkCost& estimated : estimate(key).work) {
      if (measured->find(estimated.work) == nullptr) measured->work.push_back(estimated);
    }
    return std::move(*measured);
  }
  const std::string& reason = std::get<std::string>(found);
  if (std::ranges::find(all.reasons, reason) == all.reasons.end()) all.reasons.push_back(reason);
  return estimate(key);
}

}  // namespace

const DeviceCosts& MachineCosts::of(const Device& device) const {
  if (!on_gpu(device)) return cpu;
  const std::string uuid = to_string(device);
  const auto found = std::ranges::find_if(gpus, [&](const DeviceCosts& costs) { return costs.key.device == uuid; });
  return found == gpus.end() ? cpu : *found;
}

CostKey key_of(const Gpu& gpu) { return gpu_key(to_string(gpu.device), gpu.name); }

MachineCosts machine_costs(const CostCache& cache, const Devices& devices, const CostKey& cpu) {
  MachineCosts all;
  all.cpu = costs_or_estimate(cache, cpu, estimated_cpu_costs, all);
  for (const Gpu& gpu : devices.gpus) {
    all.gpus.push_back(gpu.awaited ? estimated_gpu_costs(key_of(gpu))
                                   : costs_or_estimate(cache, key_of(gpu), estimated_gpu_costs, all));
  }
  return all;
}

CostCache load_costs() {
  const auto file = costs_file();
  return file ? read_costs(*file) : CostCache();
}

MachineCosts load_machine_costs(const Devices& devices) { return machine_costs(load_costs(), devices); }

void add_costs(MachineCosts& costs, const CostCache& cache, const Gpu& gpu) {
  const CostKey key = key_of(gpu);
  std::erase_if(costs.gpus, [&](const DeviceCosts& known) { return known.key == key; });
  costs.gpus.push_back(costs_or_estimate(cache, key, estimated_gpu_costs, costs));
}

}  // namespace campipe
