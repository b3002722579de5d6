// Where mosaics run, and how the frames of their cameras come to them.
#include "app/placement/mosaic_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/supervisor/life/worker_choice.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A mosaic `wall` of the cameras of those names, each in a cell of 320x240.
CameraConfig& add_wall(RigConfig& rig, const std::vector<std::string>& names) {
  CameraConfig& wall = rig.cameras.emplace_back();
  wall.name = "wall";
  MosaicConfig& mosaic = wall.mosaic.emplace();
  mosaic.background = {1, 2, 3};
  int x = 0;
  for (const std::string& name : names) {
    mosaic.cells.push_back({name, {x, 0, 320, 240}});
    x += 320;
  }
  return wall;
}

TEST(MosaicPlan, ACellHasWhatTheLastNodeMakesInTheSizeOfTheCell) {
  CameraConfig camera;
  camera.filters = {{"blur", {}}, {"motion", {}}, {"sharpen", {}}};
  MosaicConfig mosaic;
  mosaic.background = {1, 2, 3};
  mosaic.cells = {{"cam0", {0, 0, 64, 48}}, {"cam1", {64, 0, 320, 240}}};
  const auto filters = cell_filters(camera, 0, mosaic, 1);
  ASSERT_EQ(filters.size(), 3U) << "motion only looks";
  EXPECT_EQ(filters[0].name, "blur");
  EXPECT_EQ(filters[1].name, "sharpen");
  EXPECT_EQ(filters[2].name, "fit");
  const FilterParameters expected{{"width", 320}, {"height", 240}, {"red", 1}, {"green", 2}, {"blue", 3}};
  EXPECT_EQ(filters[2].parameters, expected);
  EXPECT_EQ(cell_filters(camera, 2, mosaic, 0).size(), 2U) << "the nodes before have done the rest";
}

TEST(MosaicPlan, FramesStayOnTheGpuWhereBothAreOnOne) {
  Machine machine = gpu_machine(2);
  const Device cpu;
  const auto memory = [&](const Device& from, const Device& to) {
    return cell_memory(CameraConfig(), from, to, machine.devices);
  };
  const RingMemory vmm{MemoryKind::cuda_vmm, ReadySignal::immediate, gpu_number(0)};
  const RingMemory downloaded{MemoryKind::host, ReadySignal::immediate, gpu_number(0)};
  EXPECT_EQ(memory(cpu, cpu), RingMemory());
  EXPECT_EQ(memory(cpu, gpu_number(0)), RingMemory());
  EXPECT_EQ(memory(gpu_number(0), cpu), downloaded);
  EXPECT_EQ(memory(gpu_number(0), gpu_number(1)), vmm);
  EXPECT_EQ(memory(gpu_number(0), gpu_number(0)), vmm);
  CameraConfig legacy;
  legacy.ipc_memory = MemoryKind::cuda_legacy;
  EXPECT_EQ(cell_memory(legacy, gpu_number(0), gpu_number(0), machine.devices), vmm) << "nobody opens its own handle";
  pair_of(machine, 0, 0).sharing[MemoryKind::cuda_vmm] = "no";
  EXPECT_EQ(cell_memory(legacy, gpu_number(0), gpu_number(0), machine.devices), downloaded);
}

TEST(MosaicPlan, ItsWorkerSeesTheGpusOfItsCameras) {
  RigConfig rig = rig_of(3);
  for (unsigned c = 0; c < 3; ++c) rig.cameras[c].gpu = std::to_string(c);
  add_wall(rig, {"cam0", "cam2", "cam1"}).gpu = "3";
  rig.cameras[1].enabled = false;
  const RigPlan placed = plan(rig, gpu_machine(4));
  const CameraPlan& wall = placed.cameras.back();
  EXPECT_EQ(wall.placement.decode_gpu, Device()) << "there is nothing to decode";
  ASSERT_EQ(wall.cells.size(), 3U);
  EXPECT_EQ(wall.cells[0].device, gpu_number(0));
  EXPECT_EQ(wall.cells[1].device, gpu_number(2));
  EXPECT_EQ(wall.cells[2], RingMemory()) << "of a camera that is disabled";
  EXPECT_THAT(gpus_of_worker(placed, wall.nodes.front().worker),
              ElementsAre(gpu_number(3), gpu_number(0), gpu_number(2), gpu_number(1)))
      << "its own, its cells', and others that a camera that is moved to it may be decoded on";
  EXPECT_THAT(gpus_of_worker(placed, placed.cameras.front().nodes.front().worker),
              ElementsAre(gpu_number(0), gpu_number(1), gpu_number(2)));
}

TEST(MosaicPlan, ACopyIsDecodedForAMosaicThatRuns) {
  RigConfig rig = rig_of(1);
  rig.cameras[0].encode.codec = "copy";
  add_wall(rig, {"cam0", "gone"});
  EXPECT_THAT(shown_cameras(rig), UnorderedElementsAre("cam0", "gone"));
  EXPECT_EQ(plan(rig, gpu_machine(1)).cameras[0].placement.decode_gpu, gpu_number(0));
  rig.cameras[1].enabled = false;
  EXPECT_THAT(shown_cameras(rig), IsEmpty());
  EXPECT_EQ(plan(rig, gpu_machine(1)).cameras[0].placement.decode_gpu, Device());
}

// A mosaic in each form of the plan.
TEST(MosaicGraph, HasAnEdgeFromEachCameraToItsNode) {
  RigConfig rig = quiet_rig_of(2, 1);
  rig.cameras[0].encode.codec = "copy";
  rig.cameras[1].filters = {{"blur", {}}, {"motion", {}}};
  add_wall(rig, {"cam0", "cam1"});
  const Graph graph = graph_of(rig, cpu_machine({0, 1}));
  const std::string text = describe(graph);
  EXPECT_THAT(text, HasSubstr("  wall: 2 cells -> h264 (libx264)\n"));
  EXPECT_THAT(text, HasSubstr("    cam0: copy\n    wall: fit -> frames\n"));
  EXPECT_THAT(text, HasSubstr("    cam1: blur, motion -> h264 (libx264)\n    wall: blur, fit -> frames\n"));
  EXPECT_THAT(text,
              HasSubstr("2 x frame ring (host, immediate): a cell of wall; a node on the CPU makes the frames\n"));
  EXPECT_THAT(to_dot(graph), HasSubstr("wall\\n2 cells\\nh264 (libx264)"));
  EXPECT_THAT(to_dot(graph), HasSubstr("wall: blur, fit -> frames"));
  const nlohmann::json json = to_json(graph);
  std::vector<std::string> cells;
  for (const auto& edge : json.at("edges")) {
    if (edge.at("to") == "node wall") cells.push_back(edge.at("from"));
  }
  EXPECT_THAT(cells, ElementsAre("node cam0", "node cam1"));
  for (const auto& node : json.at("nodes"))
    EXPECT_EQ(node.value("cells", 0), node.at("id") == "node wall" ? 2 : 0) << node;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
