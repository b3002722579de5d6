// Some dozens of seeds of the simulated rig, and seeds that have found something.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 130;

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

// A course that a seed has found.
std::optional<std::string> failure_of(const std::vector<sim::Fault>& faults) {
  sim::Course course{10s, false, faults};
  return sim::Seeds(sim::simulated_rigs(), 100s).run(105, course).failure;
}

// Nothing ran for two seconds, and a worker died meanwhile: all others were killed as if they had hung.
TEST(Simulation, ADeathWhileTheMachineStandsStillKillsNoOther) {
  using sim::FaultKind;
  EXPECT_EQ(failure_of({{FaultKind::pause, sim::Part::source, 4s, 2070ms, 1},
                        {FaultKind::kill, sim::Part::worker, 6s, 0s, 0}}),
            std::nullopt);
}

TEST(Simulation, ASeedRepeatsARun) {
  sim::Seeds seeds(sim::simulated_rigs(), 100s);
  const sim::Outcome once = seeds.run(3);
  EXPECT_FALSE(once.trace.empty());
  EXPECT_EQ(once.trace, seeds.run(3).trace);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
