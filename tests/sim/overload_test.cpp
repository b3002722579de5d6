// A worker that is slow for longer than it is waited for: a camera of its goes over to another one, or gives way. Few
// seeds have that.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

// Rigs of courses.
constexpr std::size_t one_camera = 0;
constexpr std::size_t two_workers = 2;
constexpr std::size_t three_cameras = 4;
constexpr std::size_t two_priorities = 10;

// Worker 0, from 5 s to 45 s.
sim::Outcome with_slow_worker(sim::RigChoice rig, std::vector<sim::MoveWish> moves = {}) {
  const sim::Fault slow{sim::FaultKind::slow, sim::Part::worker, 5s, 40s, 0};
  return sim::Seeds({std::move(rig)}, 100s).run(0, {60s, false, {slow}, std::move(moves), {}});
}

TEST(SimulatedOverload, LosesFramesWithPolicyDrop) {
  const sim::Fault slow{sim::FaultKind::slow, sim::Part::worker, 2s, 15s, 0};
  const sim::Outcome outcome =
      sim::Seeds({sim::simulated_rigs().at(one_camera)}, 100s).run(0, {25s, false, {slow}, {}, {}});
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("dropped queue_full"));
}

TEST(SimulatedOverload, RelievesAWorkerOfACamera) {
  const sim::Outcome outcome = with_slow_worker(sim::simulated_rigs().at(two_workers));
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("a worker is relieved of a camera"));
}

TEST(SimulatedOverload, HasACameraOfLowPriorityGiveWay) {
  const sim::Outcome outcome = with_slow_worker(sim::simulated_rigs().at(two_priorities));
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("a camera gives way"));
  EXPECT_TRUE(outcome.reached.contains("dropped shed"));
}

// door and yard are on it; yard goes first. Both may lose frames, and yard has the lower priority.
TEST(SimulatedOverload, HasNobodyGiveWayWhereAMoveHelps) {
  nlohmann::json file = sim::simulated_rigs().at(three_cameras).file();
  for (nlohmann::json& camera : file.at("cameras")) camera["drop_policy"] = "drop";
  const sim::Outcome outcome = with_slow_worker({file, sim::Changeable::nothing});
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_GT(lines_with(outcome, "log: door: is on worker 1 from frame"), 0);
  EXPECT_FALSE(outcome.reached.contains("a camera gives way"));
}

TEST(SimulatedOverload, KeepsWhatWasMovedByHand) {
  constexpr std::uint64_t door = 2;  // in the order in which they have begun
  const sim::Outcome outcome =
      with_slow_worker(sim::simulated_rigs().at(three_cameras), {{2s, door, 1}, {3s, door, 0}});
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_GT(lines_with(outcome, "log: yard: is on worker 1 from frame"), 0);
  EXPECT_GT(lines_with(outcome,
                       "and none of its cameras can go over to one that has room: door: somebody has moved it there"),
            0);
  EXPECT_EQ(lines_with(outcome, "log: door: its work is to go over from worker 0 to worker 1: worker 0 is late"), 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
