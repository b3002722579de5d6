// Environment variables of the processes that campipe starts, as "NAME=value".
#pragma once

#include <string>
#include <vector>

#include "app/config.h"
#include "core/frame.h"

namespace campipe {

// CUDA sees these GPUs, in this order, and no others; none: it sees no GPU at all.
std::string see_gpus(const std::vector<Device>& gpus);
// `off`: even where a daemon runs, it is not joined.
std::vector<std::string> mps_variables(Mps mps);
// This process's environment, with `own` in the place of variables of the same names.
std::vector<std::string> environment_with(const std::vector<std::string>& own);

}  // namespace campipe
