// A rig's cameras as who assigns them to nodes has them. A pure function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/cluster/assign.h"
#include "app/placement/machine_costs.h"
#include "app/placement/plan.h"

namespace campipe {

struct LoadedConfig;

// Those that are enabled. What they take is predicted for `machine`, by its costs. `units`: by camera, the unit that it
// is of (ClusterCamera).
std::vector<ClusterCamera> rig_cameras(const LoadedConfig& loaded, const Machine& machine, const MachineCosts& costs,
                                       const std::map<std::string, std::string>& units);

}  // namespace campipe
