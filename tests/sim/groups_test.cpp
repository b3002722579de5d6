// Some dozens of seeds of simulated rigs with synchronised groups.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/many_seeds.h"
#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 60;
constexpr auto groups = sim::Varies::groups;

// What the seeds reach together.
std::vector<std::string> awaited() {
  return {"message group_page to worker",
          "message go_on to worker",
          "a set is encoded by a group that repeats",
          "a set is encoded by a group that drops",
          "a set is encoded by a group that waits",
          "a set is waited for for long",
          "members of a group have encoded the same sets",
          "dropped late",
          "dropped set_incomplete",
          "dropped out_of_step",
          "a camera is moved",
          "a move is over",
          "a move is over by a death",
          "one of several cameras is quarantined"};
}

TEST(SimulatedGroups, HoldForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(groups), 100s, groups);
  sim::expect_seeds_hold(seeds, tried, awaited());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
