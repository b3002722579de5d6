// The configurations of simulated rigs whose cameras are placed by more than their worker: on machines with GPUs, by
// stage, and by tile.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace campipe::sim {

struct PlacedRig {
  nlohmann::json config;  // as in a configuration file
  unsigned gpus = 0;      // that the machine has
};

std::vector<PlacedRig> placed_rigs();

}  // namespace campipe::sim
