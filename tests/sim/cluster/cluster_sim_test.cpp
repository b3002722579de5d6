// A cluster in virtual time, from seeds: nodes and etcd get into all kinds of trouble, and what docs/cluster.md
// promises holds (checks.h). tools/simulate runs more seeds, and one of them with a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/sim/cluster/simulation.h"

namespace campipe::sim {
namespace CAMPIPE_FILE {

using testing::IsEmpty;

constexpr std::uint64_t seeds = 200;

// What the seeds have to get to: else they prove nothing of it.
std::set<std::string> all_states() {
  std::set<std::string> states{"a camera gives way",
                               "a camera goes home, or where there is more room",
                               "a camera is nowhere",
                               "a camera leaves",
                               "a camera moves",
                               "a generation does not count",
                               "a name is taken",
                               "a node says that it keeps a camera",
                               "a node names cameras that it cannot record",
                               "a plan could not be written",
                               "a plan is a new generation",
                               "a plan is damaged",
                               "a plan is not known, or older",
                               "an assignment is refused",
                               "nobody plans",
                               "pushes",
                               "two nodes write",
                               "vanished nodes are waited for"};
  for (std::size_t kind = 0; kind < static_cast<std::size_t>(FaultKind::count); ++kind)
    states.insert(std::string("fault ") + name_of(static_cast<FaultKind>(kind)));
  return states;
}

void expect_good(std::uint64_t seed, std::map<std::string, std::uint64_t>& reached) {
  const Outcome outcome = run(make_scenario(seed), false);
  for (const auto& [state, times] : outcome.reached) reached[state] += times;
  if (outcome.violation) ADD_FAILURE() << report(seed, *outcome.violation);
}

TEST(ClusterSim, KeepsItsPromises) {
  std::map<std::string, std::uint64_t> reached;
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) expect_good(seed, reached);
  std::set<std::string> missed = all_states();
  for (const auto& [state, times] : reached) missed.erase(state);
  EXPECT_THAT(missed, IsEmpty()) << "no seed got there";
}

// Each found a mistake, which is mended now and is a mutant (tests/sim/mutants/cluster.txt).
TEST(ClusterSim, KeepsThemWhereItDidNot) {
  std::map<std::string, std::uint64_t> reached;
  expect_good(2, reached);    // a_stranger_waits
  expect_good(25, reached);   // a_lease_again_is_enough
  expect_good(116, reached);  // an_older_name_is_lost
}

TEST(ClusterSim, IsTheSameEachTime) {
  const Outcome first = run(make_scenario(5), true);
  const Outcome second = run(make_scenario(5), true);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.reached, second.reached);
  EXPECT_FALSE(first.trace.empty());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::sim
