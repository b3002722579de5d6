// What machines have and cameras take, as a cluster's plan is made from it, on machines that are invented.
#include "app/placement/node_amounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/costs/cost_cache.h"
#include "tests/unit/invented_machines.h"

namespace campipe {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::SizeIs;

MachineCosts estimates(const Devices& devices = {}) { return machine_costs({}, devices, {"cpu", "", "", ""}); }

LoadedConfig one_camera(const std::string& url = "test://pattern?width=1280&height=720&rate=25") {
  LoadedConfig loaded;
  CameraConfig& camera = loaded.rig.cameras.emplace_back();
  camera.name = "dock";
  camera.source.url = url;
  camera.encode.codec = "h264";
  loaded.gpu_places.emplace_back();
  return loaded;
}

TEST(NodeCapacity, GrowsWithCoresAndGpus) {
  const auto of = [](const Machine& machine) { return node_capacity(machine, estimates(machine.devices)); };
  const NodeAmounts four = of(cpu_machine(cpus(0, 4)));
  const NodeAmounts eight = of(cpu_machine(cpus(0, 8)));
  EXPECT_GT(four.at("cores"), 0);
  EXPECT_DOUBLE_EQ(eight.at("cores"), 2 * four.at("cores"));
  EXPECT_GT(four.at("memory"), 0) << "also where it is not known";
  EXPECT_THAT(four, Not(Contains(Key("GPU time"))));
  Machine one = gpu_machine(1);
  Machine two = gpu_machine(2);
  for (Machine* machine : {&one, &two}) {
    for (Gpu& gpu : machine->devices.gpus) gpu.memory_mib = 80'000;
  }
  for (const char* resource : {"decode", "GPU time", "GPU memory"}) {
    EXPECT_GT(of(one).at(resource), 0) << resource;
    EXPECT_DOUBLE_EQ(of(two).at(resource), 2 * of(one).at(resource)) << resource;
  }
}

TEST(CameraWays, OnAMachineWithoutGpusThereIsOne) {
  const Machine machine = cpu_machine(cpus(0, 4));
  const auto ways = camera_ways(one_camera(), machine, estimates(), {});
  ASSERT_THAT(ways, SizeIs(1));
  EXPECT_GT(ways[0].at("cores"), 0);
  EXPECT_THAT(ways[0], AllOf(Not(Contains(Key("GPU time"))), Not(Contains(Key("decode")))));
  const auto larger =
      camera_ways(one_camera("test://pattern?width=2560&height=1440&rate=25"), machine, estimates(), {});
  EXPECT_GT(larger.at(0).at("cores"), 1.5 * ways[0].at("cores"));
}

TEST(CameraWays, AStreamThatIsKnownCounts) {
  const Machine machine = cpu_machine(cpus(0, 4));
  const LoadedConfig live = one_camera("rtsp://10.0.0.9/");
  const auto unknown = camera_ways(live, machine, estimates(), {});
  const auto small = camera_ways(live, machine, estimates(), {{"dock", {"h264", 640, 360, 25}}});
  ASSERT_THAT(unknown, SizeIs(1));
  EXPECT_LT(small.at(0).at("cores"), unknown[0].at("cores"));
}

TEST(CameraWays, OnAGpuItMayAlsoRunOnCores) {
  const Machine machine = gpu_machine(1);
  const auto ways = camera_ways(one_camera("rtsp://10.0.0.9/"), machine, estimates(machine.devices),
                                {{"dock", {"h264", 1920, 1080, 25}}});
  ASSERT_THAT(ways, SizeIs(2));
  EXPECT_THAT(ways[0], Contains(Key("decode")));
  EXPECT_THAT(ways[1], Not(Contains(Key("decode"))));
  EXPECT_GT(ways[1].at("cores"), ways[0].at("cores"));
}

TEST(CameraWays, ADisabledCameraTakesNothing) {
  LoadedConfig disabled = one_camera();
  disabled.rig.cameras[0].enabled = false;
  EXPECT_THAT(camera_ways(disabled, cpu_machine(cpus(0, 4)), estimates(), {}), IsEmpty());
}

}  // namespace
}  // namespace campipe
