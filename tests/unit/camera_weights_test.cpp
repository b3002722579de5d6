// What cameras weigh, and how they are spread by that, on machines that are invented.
#include "app/placement/camera_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/costs/cost_cache.h"
#include "core/gpu.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::SizeIs;

const KnownStream hd{"h264", 1920, 1080, 25};

MachineCosts estimates(const Devices& devices = {}) { return machine_costs({}, devices, {"cpu", "", "", ""}); }

// Cameras that are encoded, of which every second one is denoised first.
RigConfig uneven_rig(int cameras, int workers) {
  RigConfig rig = rig_of(cameras, workers);
  for (int c = 0; c < cameras; ++c) {
    rig.cameras[c].source.url = "rtsp://host/" + std::to_string(c);
    rig.cameras[c].encode.codec = "h264";
    if (c % 2 == 0) rig.cameras[c].filters.push_back({"denoise", {}});
  }
  return rig;
}

std::vector<std::size_t> denoised_on_each(const RigPlan& plan) {
  std::vector<std::size_t> counts;
  for (const WorkerPlan& worker : plan.workers)
    counts.push_back(std::ranges::count_if(worker.cameras, [](unsigned c) { return c % 2 == 0; }));
  return counts;
}

TEST(CameraWeight, GrowsWithFiltersSizeAndRate) {
  const Machine machine = cpu_machine(cpus(0, 4));
  RigConfig rig = uneven_rig(2, 2);
  const auto cores = [&](int camera, const KnownStream& stream) {
    return weigh(rig.cameras[camera], machine, estimates(), stream).cores;
  };
  EXPECT_GT(cores(0, hd), 1.5 * cores(1, hd));
  EXPECT_GT(cores(1, hd), 1.5 * cores(1, {"h264", 1280, 720, 25}));
  EXPECT_NEAR(cores(0, {"h264", 1920, 1080, 50}) / cores(0, hd), 2, 0.2);
  rig.cameras[1].source.pace = Pace::fast;
  EXPECT_GT(cores(1, hd), 0) << "it takes time, too, though nobody knows how much";
}

TEST(CameraWeight, OfAGpuIsItsTime) {
  const Machine machine = gpu_machine(1);
  const RigConfig rig = uneven_rig(2, 2);
  const MachineCosts costs = estimates(machine.devices);
  EXPECT_GT(weigh(rig.cameras[0], machine, costs, hd).gpu, weigh(rig.cameras[1], machine, costs, hd).gpu);
  EXPECT_EQ(weigh(rig.cameras[0], cpu_machine({0, 1}), costs, hd).gpu, 0);
}

// One that names a worker which comes with other cameras, or a GPU that is not there.
TEST(CameraWeight, IsNothingWhereItCannotBePlaced) {
  CameraConfig camera = uneven_rig(1, 1).cameras[0];
  camera.gpu = "7";
  EXPECT_EQ(weigh(camera, cpu_machine({0, 1}), estimates(), hd).cores, 0);
}

TEST(CameraWeights, FollowTheStreamAndTheConfiguration) {
  const Machine machine = cpu_machine(cpus(0, 4));
  CameraConfig camera = uneven_rig(2, 2).cameras[1];
  CameraWeights weights;
  const double unknown = weights.of(camera, machine, estimates(), {}).cores;
  EXPECT_DOUBLE_EQ(unknown, weigh(camera, machine, estimates(), hd).cores) << "it counts as 1080p";
  const KnownStream small{"h264", 640, 360, 25};
  EXPECT_LT(weights.of(camera, machine, estimates(), {{camera.name, small}}).cores, unknown);
  EXPECT_DOUBLE_EQ(weights.of(camera, machine, estimates(), {}).cores, unknown);
  camera.filters.push_back({"denoise", {}});
  EXPECT_GT(weights.of(camera, machine, estimates(), {}).cores, unknown);
}

TEST(BalancedPlan, SpreadsWhatIsHeavy) {
  RigConfig rig = uneven_rig(8, 2);
  const Machine machine = cpu_machine(cpus(0, 8));
  EXPECT_THAT(denoised_on_each(plan(rig, machine)), ElementsAre(4, 0)) << "by number";
  EXPECT_THAT(denoised_on_each(balanced_plan(rig, machine, estimates())), ElementsAre(2, 2));
  rig.balance = Balance::off;
  EXPECT_THAT(denoised_on_each(balanced_plan(rig, machine, estimates())), ElementsAre(4, 0));
}

TEST(BalancedPlan, SpreadsItOverGpus) {
  const RigConfig rig = uneven_rig(8, 2);
  const Machine machine = gpu_machine(2);
  EXPECT_THAT(denoised_on_each(plan(rig, machine)), ElementsAre(4, 0)) << "by number";
  EXPECT_THAT(denoised_on_each(balanced_plan(rig, machine, estimates(machine.devices))), ElementsAre(2, 2));
}

TEST(BalancedPlan, EqualCamerasGoRoundAsWithoutIt) {
  const Machine machine = cpu_machine(cpus(0, 8));
  RigConfig rig = rig_of(7, 3);
  for (CameraConfig& camera : rig.cameras) camera.source.url = "rtsp://host/a";
  const auto workers = [](const RigPlan& plan) {
    std::vector<unsigned> all;
    for (const CameraPlan& camera : plan.cameras) all.push_back(camera.nodes[0].worker);
    return all;
  };
  EXPECT_EQ(workers(balanced_plan(rig, machine, estimates())), workers(plan(rig, machine)));
  EXPECT_THAT(workers(plan(rig, machine)), ElementsAre(0, 1, 2, 0, 1, 2, 0));
}

TEST(BalancedPlan, KeepsWhatIsNamed) {
  RigConfig rig = uneven_rig(4, 2);
  rig.cameras[0].placement = StagePlacement{"auto", {}, "cpu:1"};
  rig.cameras[0].filters.clear();
  const RigPlan placed = balanced_plan(rig, cpu_machine(cpus(0, 8)), estimates());
  EXPECT_EQ(placed.cameras[0].nodes.back().worker, 1U);
}

TEST(BalancedPlan, TilesHaveWorkersOfTheirOwn) {
  RigConfig rig = uneven_rig(3, 3);
  rig.cameras[2].placement = StagePlacement{"auto", {}, "auto", {"auto", "auto"}};
  const RigPlan placed = balanced_plan(rig, cpu_machine(cpus(0, 8)), estimates());
  ASSERT_THAT(placed.cameras[2].nodes, SizeIs(3));
  EXPECT_NE(placed.cameras[2].nodes[0].worker, placed.cameras[2].nodes[1].worker);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
