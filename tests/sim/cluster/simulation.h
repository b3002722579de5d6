// Runs seeds: each in a cluster of its own. One that fails is run again without one fault after the other, until none
// can be left out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/cluster/cluster.h"

namespace campipe::sim {

struct Outcome {
  std::optional<Violation> violation;
  std::map<std::string, std::uint64_t> reached;
  std::vector<std::string> trace;
};

Outcome run(const Scenario& scenario, bool traces);

// The same property is violated by it, with as few faults as can be found.
Scenario shrink(const Scenario& failing, const Violation& violation);

// For people: what was violated, by which faults, and what happened.
std::string report(std::uint64_t seed, const Violation& violation);

}  // namespace campipe::sim
