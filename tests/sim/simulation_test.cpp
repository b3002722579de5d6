// Some dozens of seeds of the simulated rig, and seeds that have found something.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/many_seeds.h"
#include "tests/sim/seeds.h"
#include "tests/sim/wrong_messages.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 130;
// Rigs of courses.
constexpr std::size_t one_camera = 1;
constexpr std::size_t two_workers_and_cameras = 3;

// What the seeds reach together.
std::vector<std::string> awaited() {
  std::vector<std::string> all{"camera starting",
                               "camera running",
                               "camera waiting",
                               "camera ended",
                               "full queue",
                               "a message was refused",
                               "dropped worker_lost",
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
                               "message not_ready from worker",
                               "message go_on to worker",
                               "a move goes on",
                               "a camera is moved",
                               "a move is refused",
                               "one of several cameras is quarantined",
                               "message source_state from source"};
  for (const char* const step : sim::move_step_names) all.push_back(std::string("death at a step of a move: ") + step);
  for (std::size_t kind = 0; kind < sim::common_fault_kinds; ++kind)
    all.push_back(std::string("fault ") + sim::name_of(static_cast<sim::FaultKind>(kind)));
  return all;
}

TEST(Simulation, HoldsForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(), 100s);
  sim::expect_seeds_hold(seeds, tried, awaited());
}

// A course that a seed has found.
std::optional<std::string> failure_of(const std::vector<sim::Fault>& faults) {
  const sim::Course course{10s, false, faults, {}, {}};
  return sim::Seeds({sim::simulated_rigs().at(one_camera)}, 100s).run(105, course).failure;
}

// Nothing ran for two seconds, and a worker died meanwhile: all others were killed as if they had hung.
TEST(Simulation, ADeathWhileTheMachineStandsStillKillsNoOther) {
  using sim::FaultKind;
  EXPECT_EQ(failure_of({{FaultKind::pause, sim::Part::source, 4s, 2070ms, 1},
                        {FaultKind::kill, sim::Part::worker, 6s, 0s, 0}}),
            std::nullopt);
}

// The old worker heard of the move when its last frame was behind it, and died: the new one encoded again what was,
// from the frame on at which it had been ready.
TEST(Simulation, AWorkerThatDiesBeforeAMoveReachesItGivesNoFrameAway) {
  using sim::FaultKind;
  const sim::Fault late{FaultKind::late, sim::Part::worker, 7401ms, 6255ms, 0};
  sim::Fault exits{FaultKind::exits, sim::Part::worker, 12264ms, 0s, 0};
  exits.process = 2;
  const sim::Course course{9897ms, false, {late, exits}, {{8032ms, 4, 1}}, {}};
  EXPECT_EQ(sim::Seeds({sim::simulated_rigs().at(two_workers_and_cameras)}, 100s).run(3, course).failure, std::nullopt);
}

std::uint64_t times_reached(const sim::Outcome& outcome, const std::string& what) {
  const auto found = outcome.reached.find(what);
  return found == outcome.reached.end() ? 0 : found->second;
}

TEST(Simulation, AWrongMessageEndsItsSenderAlone) {
  const auto& all = sim::wrong_messages();
  const sim::Seeds rig({sim::simulated_rigs().at(one_camera)}, 100s);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string sender = sim::name_of(all[i].sender);
    SCOPED_TRACE("a " + sender + " that " + all[i].title);
    const sim::Fault wrong{sim::FaultKind::lies, all[i].sender, 4s, 0s, sim::first_wrong_message + i};
    const sim::Outcome outcome = rig.run(105, {10s, false, {wrong}, {}, {}});
    EXPECT_EQ(outcome.failure, std::nullopt);
    EXPECT_GT(lines_with(outcome, all[i].reason), 0);
    EXPECT_EQ(times_reached(outcome, "a message was refused"), 1U);
    EXPECT_EQ(lines_with(outcome, " died ("), 1) << "others went with it";
    EXPECT_GT(lines_with(outcome, sender + " died (") + lines_with(outcome, sender + " 0 died ("), 0);
  }
}

TEST(Simulation, ASeedRepeatsARun) {
  sim::Seeds seeds(sim::simulated_rigs(), 100s);
  const sim::Outcome once = seeds.run(3);
  EXPECT_FALSE(once.trace.empty());
  EXPECT_EQ(once.trace, seeds.run(3).trace);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
