// Seeds, each in a process of its own, and what they have found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/config/rig_config.h"
#include "tests/sim/fault.h"
#include "tests/sim/rig_run.h"

namespace campipe::sim {

// The rigs that seeds have, one after the other. Reads a configuration, so that it is to be called before any seed
// runs.
std::vector<RigConfig> simulated_rigs();

class Seeds {
 public:
  Seeds(std::vector<RigConfig> rigs, nanoseconds length) : rigs_(std::move(rigs)), length_(length) {}

  // Its outcome. One that fails is run again with fewer faults, until each of them is needed.
  Outcome run(std::uint64_t seed);
  // With a course of its own.
  [[nodiscard]] Outcome run(std::uint64_t seed, const Course& course) const;
  // Of a seed that failed: the faults that are left, and the trace.
  [[nodiscard]] static std::string describe(std::uint64_t seed, const Outcome& outcome, const Course& course);
  [[nodiscard]] const Course& shrunk() const { return shrunk_; }

 private:
  std::vector<RigConfig> rigs_;
  nanoseconds length_;
  Course shrunk_;
};

}  // namespace campipe::sim
