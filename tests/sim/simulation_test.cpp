// Some dozens of seeds of the simulated rig, and seeds that have found something.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

TEST(Simulation, HoldsForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(), 2min);
  std::map<std::string, std::uint64_t> reached;
  double virtual_s = 0;
  double cpu_s = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const sim::Outcome outcome = seeds.run(seed);
    EXPECT_FALSE(outcome.failure) << sim::Seeds::describe(seed, outcome, seeds.shrunk());
    for (const auto& [what, times] : outcome.reached) reached[what] += times;
    virtual_s += outcome.virtual_s;
    cpu_s += outcome.cpu_s;
  }
  RecordProperty("virtual_s", std::to_string(virtual_s));
  RecordProperty("cpu_s", std::to_string(cpu_s));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
