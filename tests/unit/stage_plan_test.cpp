// Placement of cameras that are processed by stage or by tile, on machines that are invented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/placement/plan.h"
#include "core/error.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<unsigned> workers_of(const CameraPlan& camera) {
  std::vector<unsigned> workers;
  for (const NodePlan& node : camera.nodes) workers.push_back(node.worker);
  return workers;
}

// ---- By stage

RigConfig staged(const StagePlacement& placement, unsigned filters = 3) {
  RigConfig rig = rig_of(1);
  rig.cameras[0].placement = placement;
  for (unsigned f = 0; f < filters; ++f) rig.cameras[0].filters.push_back({"blur", {}});
  return rig;
}

TEST(StagePlan, ConsecutiveFiltersOnOneDeviceAreOneNode) {
  const Machine machine = gpu_machine(4);
  const RigPlan placed = plan(staged({"0", {"1", "1", "3"}, "2"}), machine);
  const CameraPlan& camera = placed.cameras[0];
  EXPECT_EQ(camera.placement.decode_gpu, gpu_number(0));
  EXPECT_EQ(camera.placement.gpu, gpu_number(1));
  ASSERT_THAT(camera.nodes, SizeIs(3));
  EXPECT_EQ(camera.nodes[0].gpu, gpu_number(1));
  EXPECT_EQ(camera.nodes[1].gpu, gpu_number(3));
  EXPECT_EQ(camera.nodes[2].gpu, gpu_number(2));
  EXPECT_EQ(camera.nodes[0].first_filter, 0U);
  EXPECT_EQ(camera.nodes[1].first_filter, 2U);
  EXPECT_EQ(camera.nodes[2].first_filter, 3U);
  EXPECT_EQ(camera.nodes[0].output, (RingMemory{MemoryKind::cuda_vmm, ReadySignal::immediate, gpu_number(1)}));
  EXPECT_EQ(camera.nodes[1].output, (RingMemory{MemoryKind::cuda_vmm, ReadySignal::immediate, gpu_number(3)}));
  for (const NodePlan& node : camera.nodes) EXPECT_EQ(placed.workers.at(node.worker).gpu, node.gpu);
  EXPECT_THAT(placed.workers, SizeIs(3)) << "what only decodes is the master's";
}

TEST(StagePlan, TheEncoderIsWithTheLastFilterWhereNothingElseIsAsked) {
  const RigPlan placed = plan(staged({"auto", {"1"}, "auto"}), gpu_machine(2));
  ASSERT_THAT(placed.cameras[0].nodes, SizeIs(1));
  EXPECT_EQ(placed.cameras[0].nodes[0].gpu, gpu_number(1));
  EXPECT_EQ(placed.cameras[0].placement.decode_gpu, gpu_number(1));
}

TEST(StagePlan, FiltersAreWithTheEncoderWhereTheyHaveNoPlace) {
  const RigPlan placed = plan(staged({"0", {}, "1"}), gpu_machine(2));
  ASSERT_THAT(placed.cameras[0].nodes, SizeIs(1));
  EXPECT_EQ(placed.cameras[0].nodes[0].gpu, gpu_number(1));
}

TEST(StagePlan, AnotherNodesWorkComesBackToBeEncoded) {
  const Machine machine = gpu_machine(2);
  const RigPlan placed = plan(staged({"0", {"1", "b/0", "b/0"}, "auto"}), machine);
  const CameraPlan& camera = placed.cameras[0];
  ASSERT_THAT(camera.nodes, SizeIs(3));
  EXPECT_EQ(camera.nodes[1].remote, "b/0");
  EXPECT_EQ(camera.nodes[1].first_filter, 1U);
  EXPECT_EQ(camera.nodes[1].worker, no_worker);
  EXPECT_EQ(camera.nodes[0].output, (RingMemory{MemoryKind::host, ReadySignal::immediate, gpu_number(1)}));
  EXPECT_EQ(camera.nodes[1].output, RingMemory());
  EXPECT_EQ(camera.nodes[2].remote, "");
  EXPECT_EQ(placed.workers.at(camera.nodes[2].worker).gpu, camera.nodes[2].gpu);
}

TEST(StagePlan, ATileElsewhereReadsTheSourcesFramesFromHostMemory) {
  RigConfig rig = staged({"0", {}, "auto"});
  rig.cameras[0].placement->tiles = {"0", "b/0"};
  const CameraPlan camera = plan(rig, gpu_machine(2)).cameras[0];
  ASSERT_THAT(camera.nodes, SizeIs(3));
  EXPECT_EQ(camera.placement.decode_gpu, gpu_number(0));
  EXPECT_EQ(camera.placement.memory, MemoryKind::host);
  EXPECT_EQ(camera.nodes[1].remote, "b/0");
  EXPECT_EQ(camera.nodes[2].gpu, gpu_number(0)) << "it is joined here";
}

TEST(StagePlan, TilesOnOtherNodesTakeNoWorkersHere) {
  RigConfig rig = staged({"cpu", {}, "auto"});
  rig.cameras[0].placement->tiles = {"b/cpu", "cpu", "b/cpu", "c/cpu"};
  rig.cameras.push_back(rig.cameras[0]);
  rig.cameras[1].name = "other";
  const RigPlan placed = plan(rig, cpu_machine({0, 1}));
  for (const CameraPlan& camera : placed.cameras) {
    ASSERT_THAT(camera.nodes, SizeIs(5));
    for (const std::size_t tile : {0, 2, 3}) EXPECT_EQ(camera.nodes[tile].worker, no_worker);
    for (const std::size_t here : {1, 4}) EXPECT_LT(camera.nodes[here].worker, placed.workers.size());
  }
}

// A node on the CPU gets frames that are complete, in host memory, from a GPU that downloads them.
TEST(StagePlan, TheCpuWaitsForNoGpu) {
  const CameraPlan camera = plan(staged({"0", {"cpu", "1", "cpu"}, "auto"}), gpu_machine(2)).cameras[0];
  ASSERT_THAT(camera.nodes, SizeIs(3));
  EXPECT_EQ(camera.placement.decode_gpu, gpu_number(0));
  EXPECT_EQ(camera.placement.memory, MemoryKind::host);
  EXPECT_EQ(camera.placement.ready, ReadySignal::immediate);
  EXPECT_EQ(camera.nodes[0].output, RingMemory());
  EXPECT_EQ(camera.nodes[1].output, (RingMemory{MemoryKind::host, ReadySignal::immediate, gpu_number(1)}));
  EXPECT_EQ(camera.nodes[0].worker, camera.nodes[2].worker) << "one for all of a camera's on the CPU";
}

TEST(StagePlan, WorkersOfTheCpuHaveNumbers) {
  RigConfig rig = staged({"cpu", {"cpu:2", "cpu:0", "cpu:0"}, "cpu:1"});
  const RigPlan placed = plan(rig, cpu_machine({0, 1}));
  EXPECT_THAT(placed.workers, SizeIs(3));
  EXPECT_THAT(workers_of(placed.cameras[0]), ElementsAre(2, 0, 1));
  rig.worker_count = 2;
  EXPECT_THROW(plan(rig, cpu_machine({0, 1})), Error);
  rig.worker_count = 3;
  EXPECT_THAT(plan(rig, cpu_machine({0, 1})).workers, SizeIs(3));
}

TEST(StagePlan, EachStageSharesTheCoresOfItsWorker) {
  RigConfig rig = staged({"cpu", {"cpu:0"}, "cpu:1"});
  rig.cameras[0].outputs.resize(3);
  const CameraPlan camera = plan(rig, cpu_machine({0, 1, 2, 3})).cameras[0];
  EXPECT_DOUBLE_EQ(camera.nodes[0].encode_cores, 2.0 / 3) << "the other outputs";
  EXPECT_DOUBLE_EQ(camera.nodes[1].encode_cores, 2.0) << "the camera's own stream";
}

TEST(StagePlan, GpusThatAreNotThereAreRefused) {
  EXPECT_THROW(plan(staged({"7", {"0"}, "0"}), gpu_machine(2)), Error);
  EXPECT_THROW(plan(staged({"0", {"7"}, "0"}), gpu_machine(2)), Error);
  EXPECT_THROW(plan(staged({"0", {"0"}, "7"}), gpu_machine(2)), Error);
}

// ---- By tile

StagePlacement tiles(const std::vector<std::string>& places, const std::string& encode = "auto") {
  StagePlacement placement;
  placement.encode = encode;
  placement.tiles = places;
  return placement;
}

TEST(TilesPlan, ANodeForEachTileAndOneThatJoins) {
  const RigPlan placed = plan(staged(tiles({"0", "2", "3"}, "1")), gpu_machine(4));
  const CameraPlan& camera = placed.cameras[0];
  EXPECT_EQ(camera.tiles, 3U);
  ASSERT_THAT(camera.nodes, SizeIs(4));
  EXPECT_EQ(camera.nodes[0].gpu, gpu_number(0));
  EXPECT_EQ(camera.nodes[1].gpu, gpu_number(2));
  EXPECT_EQ(camera.nodes[2].gpu, gpu_number(3));
  EXPECT_EQ(camera.nodes[3].gpu, gpu_number(1)) << "where it is encoded";
  EXPECT_EQ(camera.nodes[1].output, (RingMemory{MemoryKind::cuda_vmm, ReadySignal::immediate, gpu_number(2)}));
  EXPECT_EQ(camera.placement.decode_gpu, gpu_number(0));
  EXPECT_EQ(camera.placement.memory, MemoryKind::cuda_vmm);
  EXPECT_EQ(inputs_of(camera, 1), std::vector{gpu_number(0)}) << "of the source";
  EXPECT_EQ(inputs_of(camera, 3), (std::vector{gpu_number(0), gpu_number(2), gpu_number(3)}));
  EXPECT_THAT(placed.workers, SizeIs(4));
}

TEST(TilesPlan, JoinsWhereTheFirstTileIs) {
  const CameraPlan camera = plan(staged(tiles({"1", "0"})), gpu_machine(2)).cameras[0];
  ASSERT_THAT(camera.nodes, SizeIs(3));
  EXPECT_EQ(camera.nodes[2].gpu, gpu_number(1));
  EXPECT_EQ(camera.nodes[2].worker, camera.nodes[0].worker);
}

TEST(TilesPlan, AGpuThatIsNamedTwiceHasTwoTiles) {
  const RigPlan placed = plan(staged(tiles({"0", "0"})), gpu_machine(2));
  EXPECT_EQ(placed.cameras[0].tiles, 2U);
  EXPECT_THAT(placed.workers, SizeIs(1));
}

TEST(TilesPlan, ThoseThatAreLeftToItHaveGpusOfTheirOwn) {
  const CameraPlan camera = plan(staged(tiles({"auto", "auto", "auto", "auto"})), gpu_machine(2)).cameras[0];
  EXPECT_EQ(camera.tiles, 2U) << "as many as there are";
  EXPECT_EQ(camera.nodes[0].gpu, gpu_number(0));
  EXPECT_EQ(camera.nodes[1].gpu, gpu_number(1));
  RigConfig rig = staged(tiles({"auto", "auto"}));
  rig.cameras[0].gpu = "1";
  EXPECT_EQ(plan(rig, gpu_machine(3)).cameras[0].nodes[0].gpu, gpu_number(1)) << "the camera's first";
}

TEST(TilesPlan, OnTheCpuEachHasAWorkerOfItsOwn) {
  RigConfig rig = staged(tiles({"auto", "auto", "auto"}));
  RigPlan placed = plan(rig, cpu_machine({0, 1}));
  EXPECT_THAT(placed.workers, SizeIs(3));
  EXPECT_THAT(workers_of(placed.cameras[0]), ElementsAre(0, 1, 2, 0)) << "joined where the first one is";
  rig.cameras[0].placement = tiles({"cpu", "cpu"}, "cpu:3");
  EXPECT_THAT(workers_of(plan(rig, cpu_machine({0, 1})).cameras[0]), ElementsAre(0, 1, 3));
  rig.cameras[0].placement = tiles({"cpu:1", "cpu:0", "cpu:1"});
  EXPECT_THAT(workers_of(plan(rig, cpu_machine({0, 1})).cameras[0]), ElementsAre(1, 0, 1, 1));
  rig.worker_count = 1;
  rig.cameras[0].placement = tiles({"cpu", "cpu"});
  EXPECT_THROW(plan(rig, cpu_machine({0, 1})), Error) << "too few workers";
  rig = rig_of(4);
  for (CameraConfig& camera : rig.cameras) camera.placement = tiles({"auto", "auto"});
  placed = plan(rig, cpu_machine({0, 1, 2, 3}));
  EXPECT_THAT(placed.workers, SizeIs(2)) << "no more than without tiles";
  for (const CameraPlan& camera : placed.cameras) EXPECT_NE(camera.nodes[0].worker, camera.nodes[1].worker);
}

TEST(TilesPlan, AreNotOnGpusAndTheCpu) { EXPECT_THROW(plan(staged(tiles({"cpu", "0"})), gpu_machine(1)), Error); }

// One ring of the source for all: where its memory does not work for one of them, it is the host's.
TEST(TilesPlan, ShareTheRingOfTheSource) {
  Machine machine = gpu_machine(2);
  for (GpuPair& pair : machine.devices.pairs) {
    if (pair.from != pair.to) pair.sharing[MemoryKind::cuda_vmm] = pair.sharing[MemoryKind::cuda_legacy] = "no peer";
  }
  const CameraPlan camera = plan(staged(tiles({"0", "1"})), machine).cameras[0];
  EXPECT_EQ(camera.placement.decode_gpu, gpu_number(0));
  EXPECT_EQ(camera.placement.memory, MemoryKind::host);
  EXPECT_EQ(camera.nodes[0].output.kind, MemoryKind::cuda_vmm) << "on one GPU";
  EXPECT_EQ(camera.nodes[1].output.kind, MemoryKind::host);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
