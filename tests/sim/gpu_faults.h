// What goes wrong with GPUs: a list that depends on the seed alone, as fault.h's.
#pragma once

#include <vector>

#include "tests/sim/fault.h"

namespace campipe::sim {

// Between `first` and `last`. One at the very beginning: the GPU is missing when the rig starts.
std::vector<Fault> gpu_faults_of(std::uint64_t seed, nanoseconds first, nanoseconds last);

}  // namespace campipe::sim
