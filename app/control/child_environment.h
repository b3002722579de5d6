// Environment variables of the processes that campipe starts, as "NAME=value".
#pragma once

#include <string>
#include <vector>

#include "app/config/mps.h"
#include "core/frame.h"

namespace campipe {

// CUDA sees these GPUs, in this order, and no others; none: it sees no GPU at all.
std::string see_gpus(const std::vector<Device>& gpus);
// `off`: even where a daemon runs, it is not joined.
std::vector<std::string> mps_variables(Mps mps);
// Of this process's environment what the libraries, the tools that test them and campipe itself need, with `own` in the
// place of variables of the same names. All else stays here: a configuration takes passwords from the environment.
// docs/operations.md lists what is handed on.
std::vector<std::string> environment_with(const std::vector<std::string>& own);
// What a program needs to be loaded at all, and the options of sanitizers.
std::vector<std::string> loader_environment();

}  // namespace campipe
