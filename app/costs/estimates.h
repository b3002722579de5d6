// What is assumed of a device that has not been measured: right within a factor of two or three on machines of these
// years.
#pragma once

#include "app/costs/cost_table.h"

namespace campipe {

DeviceCosts estimated_cpu_costs(const CostKey& key);
DeviceCosts estimated_gpu_costs(const CostKey& key);

}  // namespace campipe
