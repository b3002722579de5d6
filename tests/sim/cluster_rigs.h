// The configurations of simulated rigs that are nodes of a cluster: each holds the node's own keys and, since that is
// where a cluster's first rig comes from, the cameras of the cluster.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace campipe::sim {

std::vector<nlohmann::json> cluster_rigs();

}  // namespace campipe::sim
