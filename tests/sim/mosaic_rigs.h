// The configurations of simulated rigs with mosaics.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace campipe::sim {

std::vector<nlohmann::json> mosaic_rigs();

}  // namespace campipe::sim
