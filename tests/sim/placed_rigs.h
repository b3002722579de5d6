// The configurations of simulated rigs on machines with GPUs.
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
