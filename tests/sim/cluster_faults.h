// What goes wrong with a cluster and its node's process: a list that depends on the seed alone, as fault.h's.
#pragma once

#include <vector>

#include "tests/sim/fault.h"

namespace campipe::sim {

// Between `first` and `last`.
std::vector<Fault> cluster_faults_of(std::uint64_t seed, nanoseconds first, nanoseconds last);

}  // namespace campipe::sim
