// Some dozens of seeds of the simulated rig, and seeds that have found something.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 160;

// What the seeds reach together: else they would prove less than they seem to.
std::vector<std::string> awaited() {
  std::vector<std::string> all{"camera starting",
                               "camera running",
                               "camera waiting",
                               "camera ended",
                               "full queue",
                               "a message was refused",
                               "dropped worker_lost",
                               "dropped queue_full",
                               "a process waits for its restart",
                               "message read_camera to source",
                               "message stop_camera to master",
                               "message source_rings_over to master",
                               "message edge_over to worker",
                               "message output_over to publisher",
                               "message packet_ring_done from publisher",
                               "message source_ring_done from master",
                               "message decoding_over from master",
                               "message node_done from worker",
                               "message output_done from publisher",
                               "message source_over from source",
                               "message source_state from source"};
  for (std::size_t kind = 0; kind < sim::fault_kinds; ++kind)
    all.push_back(std::string("fault ") + sim::name_of(static_cast<sim::FaultKind>(kind)));
  return all;
}

TEST(Simulation, HoldsForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(), 100s);
  std::map<std::string, std::uint64_t> reached;
  for (std::uint64_t seed = 0; seed < tried; ++seed) {
    const sim::Outcome outcome = seeds.run(seed);
    ASSERT_FALSE(outcome.failure) << sim::Seeds::describe(seed, outcome, seeds.shrunk());
    for (const auto& [what, times] : outcome.reached) reached[what] += times;
  }
  for (const std::string& what : awaited()) EXPECT_GT(reached[what], 0U) << what << " is reached by no seed";
}

TEST(Simulation, ASeedRepeatsARun) {
  sim::Seeds seeds(sim::simulated_rigs(), 100s);
  const sim::Outcome once = seeds.run(3);
  EXPECT_FALSE(once.trace.empty());
  EXPECT_EQ(once.trace, seeds.run(3).trace);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
