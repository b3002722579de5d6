// The configurations of simulated rigs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace campipe::sim {

// As in a configuration file. The first ones have one camera.
std::vector<nlohmann::json> rig_configs();

}  // namespace campipe::sim
