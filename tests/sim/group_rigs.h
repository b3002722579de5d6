// The configurations of simulated rigs whose cameras are in synchronised groups.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace campipe::sim {

std::vector<nlohmann::json> group_rigs();

}  // namespace campipe::sim
