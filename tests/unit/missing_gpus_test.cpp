// GPUs that a rig asks for and the machine has not, on machines that are invented.
#include "app/placement/missing_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/placement/stand_ins.h"
#include "core/gpu.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Machine without_gpus() {
  Machine machine = cpu_machine(cpus(0, 4));
  machine.devices.problem = "no NVIDIA driver";
  return machine;
}

RigConfig rig_on(const std::vector<std::string>& gpus) {
  RigConfig rig = rig_of(static_cast<int>(gpus.size()));
  for (std::size_t c = 0; c < gpus.size(); ++c) rig.cameras[c].gpu = gpus[c];
  return rig;
}

// "0 gone", "1"
std::vector<std::string> described(const Devices& devices) {
  std::vector<std::string> all;
  for (const Gpu& gpu : devices.gpus) all.push_back(gpu_name(devices, gpu.device) + (gpu.gone.empty() ? "" : " gone"));
  return all;
}

TEST(MissingGpus, ThoseThatAreNamedAreGoneAndEachOnce) {
  Machine machine = without_gpus();
  const std::string uuid = to_string(gpu_number(7));
  RigConfig rig = rig_on({"1", "auto", uuid, "cpu", "1"});
  rig.cameras[1].decode_gpu = "3";
  rig.cameras[3].placement = StagePlacement{.filter = {"cpu:1", "node-b/5"}, .encode = "2", .tiles = {}};
  add_missing_gpus(machine.devices, rig);
  EXPECT_THAT(described(machine.devices), ElementsAre("1 gone", "3 gone", uuid + " gone", "2 gone"));
  EXPECT_EQ(machine.devices.gpus[0].gone, "there is no GPU here (no NVIDIA driver)");
  EXPECT_TRUE(any_awaited(machine.devices));
  add_missing_gpus(machine.devices, rig);
  EXPECT_THAT(machine.devices.gpus, SizeIs(4));
  EXPECT_THAT(without_awaited(machine.devices).gpus, IsEmpty());
}

TEST(MissingGpus, TheirCamerasRunOnWhatThereIs) {
  Machine machine = gpu_machine(2);
  RigConfig rig = rig_on({"5", "1", "auto"});
  rig.cameras[0].encode.encoder = "h264_nvenc";
  add_missing_gpus(machine.devices, rig);
  EXPECT_THAT(machine.devices.gpus[2].gone, HasSubstr("this machine's GPUs are 0 (Test GPU, "));
  const RigPlan placed = plan(rig, machine);
  EXPECT_TRUE(on_gpu(placed.cameras[0].nodes.back().gpu));
  EXPECT_EQ(placed.cameras[1].nodes.back().gpu, gpu_number(1));
  EXPECT_EQ(with_stand_ins(rig.cameras[0], machine.devices).encode.encoder, "auto");
  EXPECT_EQ(missed_by(rig.cameras[0], machine.devices, Mps::off), machine.devices.gpus[2].device);
  EXPECT_EQ(missed_by(rig.cameras[1], machine.devices, Mps::off), std::nullopt);

  Machine none = without_gpus();
  add_missing_gpus(none.devices, rig);
  for (const CameraPlan& camera : plan(rig, none).cameras) EXPECT_FALSE(on_gpu(camera.nodes.back().gpu));
}

TEST(MissingGpus, OneThatCannotBeUsedNowIsAwaitedWhereItIsNamed) {
  Machine machine = gpu_machine(2);
  machine.devices.gpus[1].problem = "out of memory";
  add_missing_gpus(machine.devices, rig_on({"0", "auto"}));
  EXPECT_THAT(described(machine.devices), ElementsAre("0", "1"));
  add_missing_gpus(machine.devices, rig_on({"1"}));
  EXPECT_THAT(described(machine.devices), ElementsAre("0", "1 gone"));
  EXPECT_EQ(machine.devices.gpus[1].gone, "it cannot be used now: out of memory");
  EXPECT_THAT(take_arrivals(machine.devices, gpu_machine(2).devices), SizeIs(1));
  EXPECT_THAT(described(machine.devices), ElementsAre("0", "1"));
  EXPECT_EQ(machine.devices.gpus[1].problem, "");
}

TEST(MissingGpus, WhoNeedsAnyAwaitsTheFirst) {
  Machine machine = without_gpus();
  RigConfig rig = rig_on({"auto", "auto", "cpu"});
  add_missing_gpus(machine.devices, rig);
  EXPECT_THAT(machine.devices.gpus, IsEmpty()) << "nobody needs one";
  rig.cameras[1].encode.encoder = "hevc_nvenc";
  add_missing_gpus(machine.devices, rig);
  EXPECT_THAT(described(machine.devices), ElementsAre("0 gone"));
  EXPECT_EQ(missed_by(rig.cameras[0], machine.devices, Mps::off), std::nullopt);
  EXPECT_EQ(missed_by(rig.cameras[0], machine.devices, Mps::use), machine.devices.gpus[0].device);
  EXPECT_EQ(missed_by(rig.cameras[1], machine.devices, Mps::off), machine.devices.gpus[0].device);
  EXPECT_EQ(missed_by(rig.cameras[2], machine.devices, Mps::use), std::nullopt);
  EXPECT_EQ(with_stand_ins(rig.cameras[1], machine.devices).encode.encoder, "auto");

  machine = without_gpus();
  rig.cameras[1].encode.encoder = "auto";
  rig.mps = Mps::use;
  add_missing_gpus(machine.devices, rig);
  EXPECT_THAT(described(machine.devices), ElementsAre("0 gone"));
}

TEST(MissingGpus, WhatHasComeTakesTheirPlaces) {
  Machine machine = without_gpus();
  const RigConfig rig = rig_on({"1", to_string(gpu_number(0)), "6"});
  add_missing_gpus(machine.devices, rig);
  const Device invented = machine.devices.gpus[0].device;
  EXPECT_TRUE(is_invented(invented));
  const std::vector<GpuArrival> arrivals = take_arrivals(machine.devices, gpu_machine(2).devices);
  ASSERT_THAT(arrivals, SizeIs(2));
  EXPECT_THAT(described(machine.devices), ElementsAre("1", "0", "6 gone"));
  EXPECT_EQ(find_gpu(machine.devices, "1")->device, gpu_number(1));
  EXPECT_EQ(arrivals[1].awaited, invented);
  EXPECT_EQ(arrivals[1].here, gpu_number(1));
  EXPECT_THAT(find_gpu(machine.devices, "6")->gone, HasSubstr("this machine's GPUs are 0 (")) << "what is known now";
  EXPECT_NE(find_pair(machine.devices, gpu_number(0), gpu_number(1)), nullptr);
  EXPECT_EQ(plan(rig, machine).cameras[0].nodes.back().gpu, gpu_number(1));
  EXPECT_THAT(take_arrivals(machine.devices, gpu_machine(2).devices), IsEmpty());
}

TEST(MissingGpus, OneThatIsNamedInBothWaysComesOnce) {
  Machine machine = without_gpus();
  add_missing_gpus(machine.devices, rig_on({"0", to_string(gpu_number(0))}));
  EXPECT_THAT(machine.devices.gpus, SizeIs(2));
  const std::vector<GpuArrival> arrivals = take_arrivals(machine.devices, gpu_machine(1).devices);
  ASSERT_THAT(arrivals, SizeIs(2));
  EXPECT_THAT(described(machine.devices), ElementsAre("0"));
  for (const GpuArrival& arrival : arrivals) EXPECT_EQ(arrival.here, gpu_number(0));
}

// The first of two has not come: the second one is the first until then, and stays it.
TEST(MissingGpus, OneThatIsHereKeepsItsIndexWhenAnotherComesBeforeIt) {
  const Devices both = gpu_machine(2).devices;
  Machine machine = gpu_machine(1);
  machine.devices.gpus[0].device = gpu_number(1);
  machine.devices.pairs[0].from = machine.devices.pairs[0].to = gpu_number(1);
  add_missing_gpus(machine.devices, rig_on({"0", "1"}));
  ASSERT_THAT(take_arrivals(machine.devices, both), SizeIs(1));
  EXPECT_EQ(find_gpu(machine.devices, "0")->device, gpu_number(1));
  EXPECT_EQ(find_gpu(machine.devices, "1")->device, gpu_number(0));
}

TEST(MissingGpus, OthersAndThoseThatCannotBeUsedDoNotCome) {
  Machine machine = without_gpus();
  add_missing_gpus(machine.devices, rig_on({"1"}));
  Devices found = gpu_machine(3).devices;
  found.gpus[1].problem = "it hangs";
  EXPECT_THAT(take_arrivals(machine.devices, found), IsEmpty());
  EXPECT_THAT(described(machine.devices), ElementsAre("1 gone"));
}

TEST(MissingGpus, WhatNoCameraNamesAnyMoreIsForgotten) {
  Machine machine = gpu_machine(1);
  const RigConfig rig = rig_on({"1", "2", "3"});
  add_missing_gpus(machine.devices, rig);
  EXPECT_THAT(machine.devices.gpus, SizeIs(4));
  forget_unnamed_gpus(machine.devices, std::span(rig.cameras).subspan(1, 1), Mps::off);
  EXPECT_THAT(described(machine.devices), ElementsAre("0", "2 gone"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
