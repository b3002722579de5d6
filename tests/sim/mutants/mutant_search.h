// How many seeds it takes a simulation to find a mistake.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/sim/mutants/mutant.h"

namespace campipe::sim {

// The simulation's: why a seed fails. `of`: as Mutant::of. `with_trace`: for people, with the faults that are needed,
// and what happens.
std::optional<std::string> failure_of(std::uint64_t seed, const std::string& of, bool with_trace);

struct Found {
  std::uint64_t seed = 0;
  std::string failure;
};

// The first of so many seeds that fails with the mistake. In a process of its own, which also a mistake that ends it,
// or never ends, finds. Throws where that seed fails without the mistake, too, which says nothing.
std::optional<Found> search(const Mutant& mutant, std::uint64_t from, std::uint64_t seeds, bool with_trace);

}  // namespace campipe::sim
