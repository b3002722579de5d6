// What machines have and cameras take, as a cluster's plan is made from it, on machines that are invented.
#include "app/placement/node_amounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/costs/cost_cache.h"
#include "app/placement/mosaic_units.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
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

CameraConfig mosaic_of(const std::string& name, const std::vector<std::string>& cameras) {
  CameraConfig mosaic;
  mosaic.name = name;
  mosaic.encode.codec = "h264";
  mosaic.mosaic.emplace();
  for (const std::string& camera : cameras) mosaic.mosaic->cells.push_back({camera, {0, 0, 960, 540}});
  return mosaic;
}

TEST(CameraWays, OfAMosaicAreWhatItTakesBesidesItsCameras) {
  const Machine machine = cpu_machine(cpus(0, 4));
  LoadedConfig shown = one_camera();
  const double camera = camera_ways(shown, machine, estimates(), {}).at(0).at("cores");
  shown.rig.cameras.insert(shown.rig.cameras.begin(), mosaic_of("wall", {"dock"}));
  shown.gpu_places.emplace_back();
  const auto ways = camera_ways(shown, machine, estimates(), {});
  ASSERT_THAT(ways, SizeIs(1));
  EXPECT_GT(ways[0].at("cores"), 0);
  // More of the same camera costs a mosaic the cell, and no decoding.
  shown.rig.cameras[0].mosaic->cells.push_back({"dock", {960, 0, 960, 540}});
  const double more = camera_ways(shown, machine, estimates(), {}).at(0).at("cores") - ways[0].at("cores");
  EXPECT_LT(more, camera);
}

TEST(MosaicUnits, AreMosaicsWithWhatTheyShow) {
  std::vector<CameraConfig> cameras(5);
  for (std::size_t i = 0; i < cameras.size(); ++i) cameras[i].name = "c" + std::to_string(i);
  EXPECT_THAT(mosaic_units(cameras), IsEmpty());
  cameras.push_back(mosaic_of("wall", {"c3", "c2"}));
  EXPECT_THAT(mosaic_units(cameras), ElementsAre(Pair("c2", "c2"), Pair("c3", "c2"), Pair("wall", "c2")));
  cameras.push_back(mosaic_of("gate", {"c0", "c1"}));
  EXPECT_EQ(mosaic_units(cameras).at("gate"), "c0");
  EXPECT_EQ(mosaic_units(cameras).at("wall"), "c2");
  cameras.push_back(mosaic_of("both", {"c1", "c3"}));
  for (const char* name : {"c0", "c1", "c2", "c3", "wall", "gate", "both"})
    EXPECT_EQ(mosaic_units(cameras).at(name), "both");
  EXPECT_FALSE(mosaic_units(cameras).contains("c4"));
  cameras.back().enabled = false;
  EXPECT_EQ(mosaic_units(cameras).at("c3"), "c2");
  for (CameraConfig& camera : cameras) {
    if (camera.mosaic) camera.mosaic->across_nodes = true;
  }
  EXPECT_THAT(mosaic_units(cameras), IsEmpty()) << "each goes where it is best off";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
