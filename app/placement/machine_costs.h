// The costs of a machine's devices: measured where the cache file has them, else estimated.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/costs/cost_cache.h"
#include "app/placement/devices.h"

namespace campipe {

struct MachineCosts {
  DeviceCosts cpu;
  std::vector<DeviceCosts> gpus;     // in the order of Devices::gpus, and behind them those that came later
  std::vector<std::string> reasons;  // why what is estimated is not measured; each once
  // By camera, while it runs: so many times what is predicted of encoding does its own take (EncodeCosts).
  std::map<std::string, double, std::less<>> encode_factors = {};

  // Of the CPU, or of a GPU that is there.
  [[nodiscard]] const DeviceCosts& of(const Device& device) const;
};

MachineCosts machine_costs(const CostCache& cache, const Devices& devices, const CostKey& cpu = cpu_key());
// The cache file of this account. Neither throws.
CostCache load_costs();
MachineCosts load_machine_costs(const Devices& devices);
// Adds the costs of a GPU that came after machine_costs().
void add_costs(MachineCosts& costs, const CostCache& cache, const Gpu& gpu);

CostKey key_of(const Gpu& gpu);

}  // namespace campipe
