// Some dozens of seeds of simulated rigs that are nodes of a cluster; and what seeds have found.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/many_seeds.h"
#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 60;
constexpr auto cluster = sim::Varies::cluster;
constexpr std::size_t stops_and_keeps = 1;  // a rig: one camera with each policy

// What the seeds reach together.
std::vector<std::string> awaited() {
  return {"the plan gives a camera to the node",
          "the plan takes a camera from the node",
          "the node has said that it records a camera",
          "a camera leaves the node",
          "a fence grows",
          "a camera is removed",
          "a lease ends",
          "a lease is taken over",
          "a node gives a push back",
          "a push goes on",
          "a node leaves its cluster",
          "is not this node's any more",
          "is another node's by now",
          "stopped, since etcd has not said for too long that it is this node's",
          "fault cut_off",
          "fault name_taken",
          "message name_taken from cluster",
          "the node cannot record a camera",
          "a camera is moved",
          "fault given_away",
          "fault kill of cluster",
          "fault late of cluster",
          "fault silent of cluster"};
}

TEST(SimulatedCluster, HoldsForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(cluster), 100s, cluster);
  sim::expect_seeds_hold(seeds, tried, awaited());
}

// The log said that etcd had not answered.
TEST(SimulatedCluster, ACameraThatIsGivenAwayIsNotSaidToBeCutOff) {
  const sim::Fault given_away{sim::FaultKind::given_away, sim::Part::cluster, 20s, 5s};
  const sim::Course course{100s, true, {given_away}, {}, {}};
  const sim::Outcome outcome =
      sim::Seeds({sim::simulated_rigs(cluster).at(stops_and_keeps)}, 100s, cluster).run(1, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(sim::lines_with(outcome, "log: gate: is another node's by now"), 1);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
