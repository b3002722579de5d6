// Seeds, each in a process of its own, and what they have found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/fault.h"
#include "tests/sim/rig_choice.h"
#include "tests/sim/rig_run.h"

namespace campipe::sim {

// What happens in a run besides faults: cameras go over to other workers; or the configuration of a rig of one camera
// is changed; or cameras that run on GPUs go over, and GPUs go away and return; or
// members of synchronised groups go over; or mosaics, and the cameras that they show; or all of these go over while
// the configuration is changed; or the rig is a node of a cluster, whose cameras come and go.
enum class Varies : std::uint8_t { moves, configuration, placement, groups, mosaics, together, cluster };
// The rigs that seeds have, one after the other. Reads a configuration, so that it is to be called before any seed
// runs.
std::vector<RigChoice> simulated_rigs(Varies varies = Varies::moves);

class Seeds {
 public:
  Seeds(std::vector<RigChoice> rigs, nanoseconds length, Varies varies = Varies::moves)
      : rigs_(std::move(rigs)), length_(length), varies_(varies) {}

  // What befalls its rig.
  [[nodiscard]] Course course(std::uint64_t seed) const;
  // Its outcome. One that fails is run again with fewer faults and changes, until each of them is needed.
  Outcome run(std::uint64_t seed);
  // With a course of its own.
  [[nodiscard]] Outcome run(std::uint64_t seed, const Course& course) const;
  // Of a seed that failed: the faults that are left, and the trace.
  [[nodiscard]] static std::string describe(std::uint64_t seed, const Outcome& outcome, const Course& course);
  [[nodiscard]] const Course& shrunk() const { return shrunk_; }

 private:
  std::vector<RigChoice> rigs_;
  nanoseconds length_;
  Varies varies_;
  Course shrunk_;
};

}  // namespace campipe::sim
