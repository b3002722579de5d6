// Some dozens of seeds of simulated rigs that are nodes of a cluster.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/many_seeds.h"
#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 60;
constexpr auto cluster = sim::Varies::cluster;

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
          "stopped, since etcd has not said for too long that it is this node's",
          "fault cut_off",
          "fault given_away",
          "fault kill of cluster",
          "fault late of cluster",
          "fault silent of cluster"};
}

TEST(SimulatedCluster, HoldsForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(cluster), 100s, cluster);
  sim::expect_seeds_hold(seeds, tried, awaited());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
