// Placement, on machines that are invented.
#include "app/placement/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/config/config.h"
#include "app/control/child_environment.h"
#include "app/placement/cpu_list.h"
#include "core/error.h"
#include "core/gpu.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<unsigned> cameras_of(const RigPlan& plan, const Device& gpu) {
  for (const WorkerPlan& worker : plan.workers) {
    if (worker.gpu == gpu) return worker.cameras;
  }
  return {};
}

// --- on the CPU ----------------------------------------------------------------------------------------------------

TEST(Plan, HasOneWorkerForTwoCoresAndNoneIdle) {
  EXPECT_THAT(plan(rig_of(8), cpu_machine({0, 1, 2, 3})).workers, SizeIs(2));
  EXPECT_THAT(plan(rig_of(8), cpu_machine({0})).workers, SizeIs(1));
  EXPECT_THAT(plan(rig_of(1), cpu_machine({0, 1, 2, 3})).workers, SizeIs(1));
  EXPECT_THAT(plan(rig_of(2, 5), cpu_machine({0, 1})).workers, SizeIs(2));
  EXPECT_THAT(plan(rig_of(256, 15), cpu_machine({0, 1})).workers, SizeIs(15));
}

TEST(Plan, GoesRoundTheWorkersAndSharesTheCores) {
  const RigPlan placed = plan(rig_of(5, 2), cpu_machine({2, 3, 5, 7, 11}));
  ASSERT_THAT(placed.workers, SizeIs(2));
  EXPECT_THAT(placed.workers[0].cameras, ElementsAre(0, 2, 4));
  EXPECT_THAT(placed.workers[1].cameras, ElementsAre(1, 3));
  EXPECT_THAT(placed.workers[0].cpus, ElementsAre(2, 3));
  EXPECT_THAT(placed.workers[1].cpus, ElementsAre(5, 7, 11));
  EXPECT_DOUBLE_EQ(placed.cameras[0].nodes[0].encode_cores, 2.0 / 3);
  EXPECT_DOUBLE_EQ(placed.cameras[1].nodes[0].encode_cores, 1.5);
  EXPECT_FALSE(on_gpu(placed.cameras[0].placement.gpu));
  EXPECT_EQ(placed.cameras[0].placement.ready, ReadySignal::immediate);
}

TEST(Plan, PinsNobodyWhereThereAreTooFewCoresOrOneWorker) {
  for (const WorkerPlan& worker : plan(rig_of(3, 3), cpu_machine({0, 1})).workers) EXPECT_THAT(worker.cpus, IsEmpty());
  EXPECT_THAT(plan(rig_of(3, 1), cpu_machine({0, 1, 2, 3})).workers[0].cpus, IsEmpty());
}

TEST(Plan, SharesTheCoresAmongAllThatIsEncoded) {
  RigConfig rig = rig_of(3, 1);
  rig.cameras[0].outputs.resize(3);
  rig.cameras[0].outputs[1].encode.codec = "copy";
  rig.cameras[1].encode.codec = "copy";
  EXPECT_EQ(encoded_outputs(rig.cameras[0]), 3U);
  EXPECT_EQ(encoded_outputs(rig.cameras[1]), 0U);
  const RigPlan placed = plan(rig, cpu_machine(cpus(0, 6)));
  EXPECT_DOUBLE_EQ(placed.cameras[0].nodes[0].encode_cores, 6.0 / 4);
  EXPECT_DOUBLE_EQ(placed.cameras[2].nodes[0].encode_cores, 6.0 / 4);
  rig = rig_of(1);
  rig.cameras[0].encode.codec = "copy";
  EXPECT_DOUBLE_EQ(plan(rig, cpu_machine(cpus(0, 6))).cameras[0].nodes[0].encode_cores, 6);
}

// --- on GPUs -------------------------------------------------------------------------------------------------------

TEST(GpuPlan, OneGpuTakesAllAndItsWorkerIsNearIt) {
  Machine machine = gpu_machine(1);
  const RigPlan placed = plan(rig_of(4), machine);
  ASSERT_THAT(placed.workers, SizeIs(1));
  EXPECT_EQ(placed.workers[0].gpu, gpu_number(0));
  EXPECT_EQ(placed.workers[0].numa_node, 0);
  EXPECT_EQ(placed.workers[0].cpus, cpus(0, 8));
  const Placement& camera = placed.cameras[3].placement;
  EXPECT_EQ(camera.gpu, gpu_number(0));
  EXPECT_EQ(camera.decode_gpu, gpu_number(0));
  EXPECT_EQ(camera.decode_cpus, cpus(0, 8));
  EXPECT_EQ(camera.memory, MemoryKind::cuda_vmm);
  EXPECT_EQ(camera.ready, ReadySignal::ipc_event);
  EXPECT_DOUBLE_EQ(placed.cameras[3].nodes[0].encode_cores, 2);

  machine.cpus = cpus(0, 8);
  EXPECT_THAT(plan(rig_of(4), machine).workers[0].cpus, IsEmpty()) << "all cores are near";
}

TEST(GpuPlan, CamerasGoRoundTheGpusAndGpusThatAreNearTheSameCoresShareThem) {
  const RigPlan placed = plan(rig_of(10), gpu_machine(4));
  ASSERT_THAT(placed.workers, SizeIs(4));
  EXPECT_THAT(placed.workers[0].cameras, ElementsAre(0, 4, 8));
  EXPECT_THAT(placed.workers[1].cameras, ElementsAre(1, 5, 9));
  EXPECT_THAT(placed.workers[3].cameras, ElementsAre(3, 7));
  EXPECT_EQ(placed.workers[0].cpus, cpus(0, 4));
  EXPECT_EQ(placed.workers[1].cpus, cpus(4, 4));
  EXPECT_EQ(placed.workers[2].cpus, cpus(8, 4));
  EXPECT_EQ(placed.workers[3].cpus, cpus(12, 4));
  EXPECT_THAT(plan(rig_of(2), gpu_machine(4)).workers, SizeIs(2)) << "no worker without a camera";
}

TEST(GpuPlan, CamerasThatNameAGpuGetItAndOthersAreSpreadAroundThem) {
  RigConfig rig = rig_of(5);
  rig.cameras[1].gpu = "1";
  rig.cameras[2].gpu = to_string(gpu_number(1));
  rig.cameras[3].gpu = "cpu";
  const RigPlan placed = plan(rig, gpu_machine(2));
  EXPECT_THAT(cameras_of(placed, gpu_number(0)), ElementsAre(0, 4));
  EXPECT_THAT(cameras_of(placed, gpu_number(1)), ElementsAre(1, 2));
  ASSERT_THAT(placed.workers, SizeIs(3));
  EXPECT_THAT(placed.workers[2].cameras, ElementsAre(3)) << "CPU workers come last";
  EXPECT_FALSE(on_gpu(placed.workers[2].gpu));
  rig.cameras[0].gpu = "2";
  EXPECT_THROW(plan(rig, gpu_machine(2)), Error);
}

TEST(GpuPlan, MemoryIsTheKindThatIsReadFastest) {
  Machine machine = gpu_machine(2);
  GpuPair& pair = pair_of(machine, 0, 1);
  const auto best = [&] { return best_sharing(machine.devices, gpu_number(0), gpu_number(1)); };
  EXPECT_EQ(best(), MemoryKind::cuda_vmm) << "cuda_legacy is not clearly faster";
  pair.rates[MemoryKind::cuda_legacy].in_place = 500;
  EXPECT_EQ(best(), MemoryKind::cuda_legacy);
  pair.rates[MemoryKind::cuda_vmm].in_place = pair.rates[MemoryKind::cuda_legacy].in_place = 12;
  EXPECT_EQ(best(), MemoryKind::host) << "GPUs that read one another slower than what lies in the host's memory";
  pair.sharing[MemoryKind::host] = "no";
  EXPECT_EQ(best(), MemoryKind::cuda_vmm);
  pair.rates.clear();
  EXPECT_EQ(best(), MemoryKind::cuda_vmm);
}

// As on a Jetson, where nothing is shared by legacy IPC, and not everywhere by VMM.
TEST(GpuPlan, MemoryOfAnIntegratedGpuIsVmmOrTheHosts) {
  Machine machine = gpu_machine(1);
  Gpu& gpu = machine.devices.gpus[0];
  EXPECT_EQ(excluded_sharing(gpu, MemoryKind::cuda_legacy), "");
  gpu.integrated = true;
  EXPECT_EQ(excluded_sharing(gpu, MemoryKind::cuda_vmm), "");
  EXPECT_EQ(excluded_sharing(gpu, MemoryKind::host), "");
  const std::string excluded = excluded_sharing(gpu, MemoryKind::cuda_legacy);
  EXPECT_THAT(excluded, HasSubstr("an integrated GPU shares no memory by legacy IPC"));
  GpuPair& pair = pair_of(machine, 0, 0);
  pair.sharing[MemoryKind::cuda_legacy] = excluded;
  pair.rates.erase(MemoryKind::cuda_legacy);
  const auto best = [&] { return best_sharing(machine.devices, gpu.device, gpu.device); };
  EXPECT_EQ(best(), MemoryKind::cuda_vmm);
  pair.sharing[MemoryKind::cuda_vmm] = "not supported";
  EXPECT_EQ(best(), MemoryKind::host);
  EXPECT_THAT(describe_devices(machine.devices), HasSubstr("  integrated: its memory is this machine's\n"));
  EXPECT_TRUE(devices_from_json(to_json(machine.devices)).gpus[0].integrated);
  nlohmann::json older = to_json(machine.devices);
  older["gpus"][0].erase("integrated");
  EXPECT_FALSE(devices_from_json(older).gpus[0].integrated);
}

TEST(GpuPlan, MemoryIsTheFirstKindThatWorksBetweenTheTwo) {
  Machine machine = gpu_machine(2);
  RigConfig rig = rig_of(1);
  rig.cameras[0].gpu = "1";
  rig.cameras[0].decode_gpu = "0";
  pair_of(machine, 0, 1).sharing[MemoryKind::cuda_vmm] = "no";
  EXPECT_EQ(plan(rig, machine).cameras[0].placement.memory, MemoryKind::cuda_legacy);
  EXPECT_EQ(plan(rig, machine).cameras[0].placement.decode_gpu, gpu_number(0));
  pair_of(machine, 0, 1).sharing[MemoryKind::cuda_legacy] = "no peer access";
  EXPECT_EQ(plan(rig, machine).cameras[0].placement.memory, MemoryKind::host);
  EXPECT_THAT(
      describe_sharing(plan(rig, machine), machine.devices),
      ElementsAre("rings from GPU 0 to GPU 1 are host (host works, 55 GB/s; cuda_vmm does not: no; cuda_legacy does "
                  "not: no peer access; cuda_fabric does not: not permitted)"));
  rig.cameras[0].ipc_memory = MemoryKind::cuda_fabric;
  EXPECT_EQ(plan(rig, machine).cameras[0].placement.memory, MemoryKind::host) << "what works";
  pair_of(machine, 0, 1).sharing[MemoryKind::cuda_fabric] = "";
  rig.cameras[0].ready_signal = ReadySignal::timeline;
  EXPECT_EQ(plan(rig, machine).cameras[0].placement.memory, MemoryKind::cuda_fabric);
  EXPECT_EQ(plan(rig, machine).cameras[0].placement.ready, ReadySignal::timeline);
}

TEST(GpuPlan, DecodingStaysOnTheCpuWhereItIsToldToOrTheGpuCannot) {
  Machine machine = gpu_machine(1);
  RigConfig rig = rig_of(1);
  rig.cameras[0].decode_gpu = "cpu";
  EXPECT_FALSE(on_gpu(plan(rig, machine).cameras[0].placement.decode_gpu));
  EXPECT_EQ(plan(rig, machine).cameras[0].placement.memory, MemoryKind::host);
  rig.cameras[0].decode_gpu = "auto";
  machine.devices.gpus[0].decoders[0].problem = "not on this GPU";
  EXPECT_FALSE(on_gpu(plan(rig, machine).cameras[0].placement.decode_gpu));
  EXPECT_TRUE(on_gpu(plan(rig, machine).cameras[0].placement.gpu));
}

Placement first_output(const RigConfig& rig, const Machine& machine) {
  const CameraPlan camera = plan(rig, machine).cameras[0];
  return placement_of_output(camera, camera.nodes.back(), rig.cameras[0], machine.devices);
}

TEST(GpuPlan, AHardwareEncoderMustWorkForTheCodec) {
  Machine machine = gpu_machine(1);
  machine.devices.gpus[0].encoders = {{"hevc_nvenc", "hevc", ""}};
  EXPECT_FALSE(first_output(rig_of(1), machine).hardware_encoder);
  machine.devices.gpus[0].encoders.push_back({"h264_nvenc", "h264", ""});
  EXPECT_TRUE(first_output(rig_of(1), machine).hardware_encoder);
}

TEST(GpuPlan, AnotherOutputMayHaveAnotherEncoder) {
  Machine machine = gpu_machine(1);
  machine.devices.gpus[0].encoders = {{"hevc_nvenc", "hevc", ""}};
  OutputConfig output;
  const CameraPlan camera = plan(rig_of(1), machine).cameras[0];
  const auto placed = [&] { return placement_of_output(camera, camera.nodes[0], output, machine.devices); };
  EXPECT_FALSE(placed().hardware_encoder);
  output.encode.codec = "hevc";
  EXPECT_TRUE(placed().hardware_encoder);
  EXPECT_FALSE(placement_of_output(camera, NodePlan(), output, machine.devices).hardware_encoder) << "on the CPU";
}

TEST(GpuPlan, NothingIsDecodedWhereAllIsPassedOn) {
  RigConfig rig = rig_of(1);
  rig.cameras[0].encode.codec = "copy";
  EXPECT_FALSE(on_gpu(plan(rig, gpu_machine(1)).cameras[0].placement.decode_gpu));
  rig.cameras[0].outputs.emplace_back();
  EXPECT_TRUE(on_gpu(plan(rig, gpu_machine(1)).cameras[0].placement.decode_gpu));
}

TEST(GpuPlan, WhatMayHaveToBeDecodedHasItsGpu) {
  RigConfig rig = rig_of(1);
  rig.cameras[0].encode.codec = "auto";
  EXPECT_EQ(encoded_outputs(rig.cameras[0]), 0U);
  EXPECT_TRUE(on_gpu(plan(rig, gpu_machine(1)).cameras[0].placement.decode_gpu));
}

TEST(GpuPlan, FilesOfAGroupAreDecodedTogether) {
  RigConfig rig = rig_of(2);
  for (CameraConfig& camera : rig.cameras) camera.group.emplace();
  rig.cameras[0].source.url = "rtsp://127.0.0.1/a";
  rig.cameras[1].source.url = "/a.mp4";
  rig.cameras[1].decode_gpu = "1";
  const RigPlan placed = plan(rig, gpu_machine(2));
  EXPECT_TRUE(on_gpu(placed.cameras[0].placement.decode_gpu)) << "it goes by its source's clock";
  EXPECT_FALSE(on_gpu(placed.cameras[1].placement.decode_gpu));
  EXPECT_TRUE(on_gpu(placed.cameras[1].placement.gpu));
}

TEST(GpuPlan, AutoLeavesOutWhatCannotBeUsedNow) {
  Machine machine = gpu_machine(2);
  machine.devices.gpus[0].problem = "out of memory";
  EXPECT_THAT(cameras_of(plan(rig_of(3), machine), gpu_number(1)), ElementsAre(0, 1, 2));
  RigConfig rig = rig_of(1);
  rig.cameras[0].gpu = "0";
  EXPECT_EQ(plan(rig, machine).cameras[0].placement.gpu, gpu_number(0));
}

LoadedConfig loaded(const RigConfig& rig) {
  LoadedConfig config;
  config.rig = rig;
  for (int i = 0; i < static_cast<int>(rig.cameras.size()); ++i) {
    const ConfigPlace place{10 + i, 5, "cameras." + rig.cameras[static_cast<std::size_t>(i)].name, "'it'"};
    const std::size_t outputs = rig.cameras[static_cast<std::size_t>(i)].outputs.size();
    config.gpu_places.push_back({place, place, place, place, std::vector(outputs, place)});
    config.gpu_places.back().stage_filter = place;
  }
  return config;
}

std::vector<std::string> formatted(const std::vector<ConfigError>& errors) {
  std::vector<std::string> lines;
  for (const ConfigError& error : errors) lines.push_back(format(error, "rig.yaml"));
  return lines;
}

std::vector<std::string> mistakes(const RigConfig& rig, const Machine& machine) {
  return formatted(check_gpus(loaded(rig), machine).mistakes);
}

// Of a rig without mistakes.
std::vector<std::string> conditions(const RigConfig& rig, const Machine& machine) {
  EXPECT_THAT(mistakes(rig, machine), IsEmpty());
  return formatted(check_gpus(loaded(rig), machine).conditions);
}

TEST(CheckGpus, TellsWhichThereAre) {
  RigConfig rig = rig_of(2);
  EXPECT_THAT(conditions(rig, gpu_machine(2)), IsEmpty());
  EXPECT_THAT(conditions(rig, cpu_machine({0})), IsEmpty());
  rig.cameras[1].gpu = "2";
  EXPECT_THAT(conditions(rig, gpu_machine(2)),
              ElementsAre("rig.yaml:11:5: cameras.cam1: this machine's GPUs are 0 (Test GPU, " +
                          to_string(gpu_number(0)) + "), 1 (Test GPU, " + to_string(gpu_number(1)) + "), got 'it'"));
  Machine machine = cpu_machine({0});
  machine.devices.problem = "no NVIDIA driver";
  EXPECT_THAT(conditions(rig, machine),
              ElementsAre("rig.yaml:11:5: cameras.cam1: there is no GPU here (no NVIDIA driver), got 'it'"));
  machine = gpu_machine(3);
  machine.devices.gpus[2].problem = "out of memory";
  EXPECT_THAT(conditions(rig, machine),
              ElementsAre("rig.yaml:11:5: cameras.cam1: it cannot be used now: out of memory, got 'it'"));
}

TEST(CheckGpus, TellsOfPlacesOnOtherNodesWhereThereIsNoCluster) {
  RigConfig rig = rig_of(2);
  rig.cameras[1].filters.resize(2);
  rig.cameras[1].placement = StagePlacement{.filter = {"cpu", "west/0"}, .tiles = {}};
  EXPECT_THAT(
      mistakes(rig, cpu_machine({0})),
      ElementsAre("rig.yaml:11:5: cameras.cam1: west/0 is a place on another node, and this rig is no node of a "
                  "cluster (key `cluster`)"));
  rig.cluster.emplace();
  EXPECT_THAT(mistakes(rig, cpu_machine({0})), IsEmpty());
}

TEST(CheckGpus, TellsWhyAForcedMemoryDoesNotWork) {
  RigConfig rig = rig_of(1);
  rig.cameras[0].ipc_memory = MemoryKind::cuda_fabric;
  EXPECT_THAT(conditions(rig, gpu_machine(1)),
              ElementsAre("rig.yaml:10:5: cameras.cam0: cuda_fabric does not work from GPU 0 to GPU 0: not permitted"));
  EXPECT_EQ(plan(rig, gpu_machine(1)).cameras[0].placement.memory, MemoryKind::cuda_vmm) << "what works";
  EXPECT_THAT(conditions(rig, cpu_machine({0})), IsEmpty()) << "no GPU fills a ring";
}

TEST(CheckGpus, TellsWhyAGpusEncoderDoesNotWork) {
  RigConfig rig = rig_of(1);
  rig.cameras[0].encode.encoder = "h264_nvenc";
  EXPECT_TRUE(names_gpus(loaded(rig)));
  Machine machine = gpu_machine(1);
  EXPECT_THAT(conditions(rig, machine),
              ElementsAre("rig.yaml:10:5: cameras.cam0: h264_nvenc does not work on GPU 0: No "
                          "capable devices found"));
  machine.devices.gpus[0].encoders[0].problem.clear();
  EXPECT_THAT(conditions(rig, machine), IsEmpty());
  machine = cpu_machine({0});
  machine.devices.problem = "built without CUDA";
  const std::string needs_one = "rig.yaml:10:5: cameras.cam0: h264_nvenc needs a GPU, and this camera is on the CPU";
  EXPECT_THAT(conditions(rig, machine), ElementsAre(needs_one + " (GPUs: built without CUDA)"));
  // The file says so, whatever the machine has.
  rig.cameras[0].gpu = "cpu";
  EXPECT_THAT(mistakes(rig, machine), ElementsAre(needs_one + " (GPUs: built without CUDA)"));
  EXPECT_THAT(mistakes(rig, gpu_machine(2)), ElementsAre(needs_one));
}

// While a rig runs, other changes are checked beside its cameras.
TEST(CheckGpus, WhatAGpuThatIsGoneLacksIsNoMistake) {
  RigConfig rig = rig_of(1);
  rig.cameras[0].gpu = "0";
  rig.cameras[0].encode.encoder = "h264_nvenc";
  rig.cameras[0].ipc_memory = MemoryKind::cuda_fabric;
  Machine machine = gpu_machine(1);
  machine.devices.gpus[0].gone = "it hangs";
  EXPECT_THAT(mistakes(rig, machine), IsEmpty());
  rig.cameras[0].gpu = "auto";
  EXPECT_THAT(mistakes(rig, machine), IsEmpty());
}

TEST(CheckGpus, ChecksTheEncodersOfOutputsToo) {
  RigConfig rig = rig_of(2);
  rig.cameras[1].outputs.resize(2);
  rig.cameras[1].outputs[1].encode.encoder = "h264_nvenc";
  EXPECT_TRUE(names_gpus(loaded(rig)));
  EXPECT_THAT(conditions(rig, cpu_machine({0})),
              ElementsAre("rig.yaml:11:5: cameras.cam1: h264_nvenc needs a GPU, and this camera is on the CPU"));
  Machine machine = gpu_machine(2);
  for (Gpu& gpu : machine.devices.gpus) gpu.encoders[0].problem.clear();
  EXPECT_THAT(conditions(rig, machine), IsEmpty());
}

TEST(CheckGpus, AsksForTheMachinesGpusOnlyWhereTheyMatter) {
  RigConfig rig = rig_of(2);
  EXPECT_TRUE(may_use_gpus(rig));
  EXPECT_FALSE(names_gpus(loaded(rig)));
  for (CameraConfig& camera : rig.cameras) camera.gpu = "cpu";
  EXPECT_FALSE(may_use_gpus(rig));
  rig.cameras[0].gpu = "0";
  EXPECT_TRUE(names_gpus(loaded(rig)));
}

TEST(DevicesJson, ComesBackEqual) {
  Machine machine = gpu_machine(2);
  machine.devices.gpus[1].problem = "out of memory";
  const Devices back = devices_from_json(nlohmann::json::parse(to_json(machine.devices).dump()));
  EXPECT_EQ(to_json(back), to_json(machine.devices));
  EXPECT_EQ(back.pairs[1].sharing, machine.devices.pairs[1].sharing);
  EXPECT_EQ(back.pairs[1].rates, machine.devices.pairs[1].rates);
}

TEST(Devices, AreDescribedForPeople) {
  const std::string text = describe_devices(gpu_machine(2).devices);
  for (const char* part :
       {"GPU 1: Test GPU", "NUMA node 1, near CPUs 8-15", "decoder h264       up to 4096x4096",
        "h264_nvenc: does not work: No capable devices found", "From GPU 0 to GPU 1: link",
        "ring memory cuda_vmm:    works, read in place 390 GB/s, copied 370 GB/s", "host:        works, copied 55 GB/s",
        "ring memory cuda_fabric: does not work: not permitted"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(CpuList, IsReadAndWrittenAsTheKernelDoes) {
  EXPECT_THAT(parse_cpu_list("0-2,8,10-11"), ElementsAre(0, 1, 2, 8, 10, 11));
  EXPECT_EQ(to_cpu_list({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  for (const char* wrong : {"", "x", "1-", "-1", "1,,2", "1 2", "99999999999", "0-99999"}) {
    EXPECT_THAT(parse_cpu_list(wrong), IsEmpty()) << wrong;
  }
}

const std::string instance = "MIG-a65afc88-50b5-5ccf-b0a8-f93b3247ae9e";

TEST(GpuNames, AreReadAndWrittenAsTheDriverDoes) {
  const std::string bare = instance.substr(4);
  for (const std::string& name : {instance, "GPU-" + bare, std::string("cpu")}) {
    EXPECT_EQ(to_string(device_from_string(name).value()), name);
  }
  EXPECT_EQ(to_string(device_from_string(bare).value()), "GPU-" + bare);
  EXPECT_NE(device_from_string(instance), device_from_string(bare)) << "an instance is no GPU";
  const std::string nothing = "00000000-0000-0000-0000-000000000000";
  for (const std::string& wrong : {std::string("MIG-"), instance + "0", "mig-" + bare, "MIG-GPU-" + bare + "/1/0",
                                   "GPU-MIG-" + bare, "MIG-" + nothing, "GPU-" + nothing, std::string("MIG-cpu")}) {
    EXPECT_EQ(device_from_string(wrong), std::nullopt) << wrong;
  }
  EXPECT_TRUE(is_mig_name("NVIDIA H100 80GB HBM3 MIG 1g.10gb"));
  EXPECT_FALSE(is_mig_name("NVIDIA H100 80GB HBM3"));
}

TEST(Plan, PutsCamerasOnAnInstanceOfAGpu) {
  Machine machine = gpu_machine(1);
  machine.devices.gpus[0].device = device_from_string(instance).value();
  for (GpuPair& pair : machine.devices.pairs) pair.from = pair.to = machine.devices.gpus[0].device;
  RigConfig rig = rig_of(2);
  rig.cameras[0].gpu = instance;
  const auto placed = plan(rig, machine);
  for (const auto& camera : placed.cameras) {
    EXPECT_EQ(to_string(camera.placement.gpu), instance);
    EXPECT_EQ(to_string(camera.placement.decode_gpu), instance);
  }
  // As the probe tells the supervisor, and the supervisor its children.
  const Devices back = devices_from_json(to_json(machine.devices));
  ASSERT_NE(find_gpu(back, instance), nullptr);
  EXPECT_EQ(see_gpus({find_gpu(back, instance)->device}), "CUDA_VISIBLE_DEVICES=" + instance);
}

TEST(ChildEnvironment, ReplacesWhatItIsGivenAndKeepsTheRest) {
  ::setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  const auto environment = environment_with({see_gpus({gpu_number(0), gpu_number(1)})});
  const std::string both = to_string(gpu_number(0)) + "," + to_string(gpu_number(1));
  EXPECT_THAT(environment, Contains("CUDA_VISIBLE_DEVICES=" + both));
  EXPECT_THAT(environment, testing::Not(Contains("CUDA_VISIBLE_DEVICES=7")));
  EXPECT_THAT(environment, Contains(testing::StartsWith("PATH=")));
  ::setenv("DOCK_PASSWORD", "hunter2", 1);
  EXPECT_THAT(environment_with({}), testing::Not(Contains(testing::HasSubstr("hunter2"))));
  ::unsetenv("DOCK_PASSWORD");
  EXPECT_EQ(see_gpus({}), "CUDA_VISIBLE_DEVICES=");
  EXPECT_EQ(see_gpus({device_from_string(instance).value()}), "CUDA_VISIBLE_DEVICES=" + instance);
  EXPECT_THAT(mps_variables(Mps::use), IsEmpty());
  EXPECT_THAT(mps_variables(Mps::off), SizeIs(1));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
