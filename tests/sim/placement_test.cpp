// Some dozens of seeds of simulated rigs whose GPUs go away and return, and whose cameras have several nodes; and seeds
// that have found something.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/many_seeds.h"
#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 90;
constexpr auto placement = sim::Varies::placement;
// Rigs of courses.
constexpr std::size_t anywhere = 1;
constexpr std::size_t two_gpus = 2;
constexpr std::size_t decoded_apart = 3;
constexpr std::size_t tiles_on_gpus = 10;
// Of faults of GPUs.
constexpr std::uint64_t first_gpu = 0;
constexpr std::uint64_t second_gpu = 1;
constexpr std::uint64_t crashes = 2;
constexpr std::uint64_t unchecked = 3;
constexpr std::uint64_t forgets = 4;

// What the seeds reach together.
std::vector<std::string> awaited() {
  return {"fault gpu_away",
          "fault context_lost of master",
          "fault context_lost of worker",
          "a process cannot begin on its GPU",
          "message gpu_checked from check-gpu",
          "message leave_camera to master",
          "message decoding_left from master",
          "message forget_camera to master",
          "message forget_node to worker",
          "a look for GPUs",
          "GPU suspected",
          "GPU gone",
          "GPU returning",
          "a GPU is gone",
          "a GPU is back",
          "a GPU has to be back",
          "cameras have to run without a GPU",
          "a camera runs on another device",
          "a camera is moved",
          "a move is refused",
          "dropped worker_lost",
          "dropped part_missing",
          "message frame_ring from worker",
          "message go_on to worker",
          "a part of a camera goes over",
          "one of several cameras is quarantined"};
}

TEST(SimulatedPlacement, HoldsForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(placement), 100s, placement);
  sim::expect_seeds_hold(seeds, tried, awaited());
}

sim::Fault gpu_away(std::chrono::nanoseconds at, std::chrono::nanoseconds lasts, std::uint64_t trouble,
                    std::uint64_t gpu) {
  sim::Fault fault{sim::FaultKind::gpu_away, sim::Part::worker, at, lasts, trouble};
  fault.camera = gpu;
  return fault;
}

sim::Outcome run(std::size_t rig, std::uint64_t seed, const std::vector<sim::Fault>& faults) {
  return sim::Seeds({sim::simulated_rigs(placement).at(rig)}, 100s, placement).run(seed, {100s, true, faults, {}, {}});
}

// What was known of the GPU at once ended its cameras' outputs before they were placed elsewhere: they ran on, and were
// published no more.
TEST(SimulatedPlacement, CamerasOfAGpuThatCannotBeCheckedArePublishedOn) {
  const sim::Outcome outcome = run(two_gpus, 2, {gpu_away(23s, 7500ms, unchecked, second_gpu)});
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(outcome.reached.at("a GPU is gone"), 1U);
}

// With policy block a tile waited for half a minute with each frame that it had for the GPU that was gone.
TEST(SimulatedPlacement, ATileDoesNotWaitForAGpuThatIsGone) {
  const sim::Outcome outcome = run(tiles_on_gpus, 87, {gpu_away(40s, 20s, forgets, second_gpu)});
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("cameras have to run without a GPU"));
}

// It was taken for one that had found no place meanwhile.
TEST(SimulatedPlacement, ACameraInQuarantineStaysThereWhenItsGpuReturns) {
  std::vector<sim::Fault> faults{gpu_away(8s, 12s, crashes, second_gpu)};
  for (const auto at : {10s, 26s, 38s}) {
    faults.push_back({sim::FaultKind::crash, sim::Part::source, at, 0s, 0});
    faults.back().camera = 1;
  }
  const sim::Outcome outcome = run(decoded_apart, 73, faults);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("one of several cameras is quarantined"));
  EXPECT_TRUE(outcome.reached.contains("a GPU is back"));
}

// What loses contexts comes along with the cameras: the second GPU is not to blame.
TEST(SimulatedPlacement, CamerasThatBringTheirTroubleAlongGoOnToTheCpu) {
  std::vector<sim::Fault> faults;
  for (const auto& [at, gpu] : {std::pair(20s, second_gpu), {22s, second_gpu}, {27s, first_gpu}}) {
    faults.push_back({sim::FaultKind::context_lost, sim::Part::worker, at, 0s, 0, gpu});
  }
  const sim::Outcome outcome = run(anywhere, 1, faults);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(lines_with(outcome, "GPU 1 is gone: worker 1 lost it, again and again, though a new process can use it"),
            1);
  EXPECT_EQ(lines_with(outcome, "goes on to the CPU, since GPU 0 is lost as the one was that it came from"), 2);
  EXPECT_EQ(lines_with(outcome, "runs on the CPU now"), 2);
  EXPECT_EQ(lines_with(outcome, "GPU 0 is gone"), 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
