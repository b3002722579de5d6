// What a rig is planned as while a GPU is gone, on machines that are invented.
#include "app/placement/stand_ins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/placement/plan.h"
#include "core/gpu.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Machine without(unsigned gpus, std::initializer_list<unsigned> gone) {
  Machine machine = gpu_machine(gpus);
  for (const unsigned gpu : gone) machine.devices.gpus[gpu].gone = "it hangs";
  return machine;
}

CameraConfig staged(StagePlacement placement) {
  CameraConfig camera;
  camera.name = "cam";
  camera.filters.resize(2);
  camera.placement = std::move(placement);
  return camera;
}

// Where each camera's last node is.
std::vector<Device> places(const RigPlan& plan) {
  std::vector<Device> all;
  for (const CameraPlan& camera : plan.cameras) all.push_back(camera.nodes.back().gpu);
  return all;
}

TEST(StandIns, NothingChangesWhereAllAreHere) {
  RigConfig rig = rig_of(2);
  rig.cameras[0].gpu = "1";
  rig.cameras[0].ipc_memory = MemoryKind::host;
  EXPECT_EQ(with_stand_ins(rig.cameras[0], gpu_machine(2).devices), rig.cameras[0]);
}

TEST(StandIns, ThoseThatLeaveTheChoiceGoToTheOthers) {
  EXPECT_THAT(places(plan(rig_of(4), without(2, {1}))),
              ElementsAre(gpu_number(0), gpu_number(0), gpu_number(0), gpu_number(0)));
  EXPECT_THAT(places(plan(rig_of(3), without(3, {0}))), ElementsAre(gpu_number(1), gpu_number(2), gpu_number(1)));
  EXPECT_THAT(places(plan(rig_of(2), without(2, {0, 1}))), ElementsAre(Device(), Device()));
}

TEST(StandIns, ThoseThatNameItGoToTheOthers) {
  RigConfig rig = rig_of(2);
  rig.cameras[0].gpu = "1";
  rig.cameras[1].gpu = "0";
  rig.cameras[1].decode_gpu = "1";
  const RigPlan placed = plan(rig, without(2, {1}));
  EXPECT_THAT(places(placed), ElementsAre(gpu_number(0), gpu_number(0)));
  EXPECT_EQ(placed.cameras[0].placement.decode_gpu, gpu_number(0));
  EXPECT_EQ(placed.cameras[1].placement.decode_gpu, gpu_number(0));
  EXPECT_THAT(places(plan(rig, without(2, {0, 1}))), ElementsAre(Device(), Device()));
}

TEST(StandIns, OneThatIsNamedByUuidIsFound) {
  RigConfig rig = rig_of(1);
  rig.cameras[0].gpu = to_string(gpu_number(1));
  const Devices devices = without(2, {1}).devices;
  EXPECT_TRUE(names(rig.cameras[0], gpu_number(1), devices));
  EXPECT_FALSE(names(rig.cameras[0], gpu_number(0), devices));
  EXPECT_EQ(with_stand_ins(rig.cameras[0], devices).gpu, "auto");
}

TEST(StandIns, StagesGoToOneThatIsHere) {
  const CameraConfig camera = staged({"1", {"0", "1"}, "1"});
  const CameraConfig result = with_stand_ins(camera, without(3, {1}).devices);
  EXPECT_EQ(result.placement->decode, "auto");
  EXPECT_THAT(result.placement->filter, ElementsAre("0", "0"));
  EXPECT_EQ(result.placement->encode, "0");
  EXPECT_EQ(with_stand_ins(camera, without(3, {1}).devices, "2").placement->encode, "2");
  const CameraConfig on_cpu = with_stand_ins(camera, without(2, {0, 1}).devices);
  EXPECT_THAT(on_cpu.placement->filter, ElementsAre("cpu", "cpu"));
  EXPECT_EQ(on_cpu.placement->encode, "cpu");
}

TEST(StandIns, TilesShareWhatIsLeftAndAreGivenUpWithoutGpus) {
  const CameraConfig camera = staged({"auto", {}, "auto", {"0", "1"}});
  EXPECT_THAT(with_stand_ins(camera, without(2, {1}).devices).placement->tiles, ElementsAre("0", "0"));
  EXPECT_THAT(with_stand_ins(camera, without(2, {0, 1}).devices).placement->tiles, IsEmpty());
  RigConfig rig;
  rig.cameras = {camera};
  EXPECT_THAT(plan(rig, without(2, {1})).cameras[0].nodes, SizeIs(3));
  EXPECT_THAT(plan(rig, without(2, {0, 1})).cameras[0].nodes, SizeIs(1));
}

// An encoder of the hardware goes with it, and so does what was said of its memory.
TEST(StandIns, WhatOnlyThatGpuHasIsLeftToThePlan) {
  CameraConfig camera;
  camera.gpu = "1";
  camera.ipc_memory = MemoryKind::cuda_legacy;
  camera.encode.encoder = "h264_nvenc";
  camera.encode.preset = "p4";
  camera.encode.options = {{"tune", "ull"}};
  const CameraConfig result = with_stand_ins(camera, without(2, {1}).devices);
  EXPECT_EQ(result.encode.encoder, "auto");
  EXPECT_EQ(result.encode.preset, "auto");
  EXPECT_THAT(result.encode.options, IsEmpty());
  EXPECT_FALSE(result.ipc_memory);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
