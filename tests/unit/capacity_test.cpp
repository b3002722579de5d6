// What rigs need, and how many cameras more fit, on machines and with costs that are invented.
#include "app/placement/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/config.h"
#include "core/error.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr double hd = 1920 * 1080 / 1e6;

// A frame of 1080p: decoding 10 ms, encoding 20 ms, blur 5 ms; on a GPU 0.5 ms to decode and 0.2 ms to blur.
MachineCosts invented_costs(unsigned gpus = 0) {
  MachineCosts costs;
  costs.cpu.key.device = "cpu";
  costs.cpu.measured = "now";
  const auto add = [](DeviceCosts& to, const char* work, double us) { to.at(work).add(0, {hd, us}); };
  for (const char* codec : {"decode/h264", "decode/hevc", "decode/pattern"}) add(costs.cpu, codec, 10'000);
  add(costs.cpu, "encode/libx264", 20'000);
  add(costs.cpu, "blur", 5'000);
  add(costs.cpu, "resize", 1'000);
  add(costs.cpu, "fit", 1'000);
  add(costs.cpu, "motion/8", 2'000);
  add(costs.cpu, "copy", 400);
  for (unsigned g = 0; g < gpus; ++g) {
    DeviceCosts& gpu = costs.gpus.emplace_back();
    gpu.key.device = to_string(gpu_number(g));
    gpu.measured = "now";
    add(gpu, "decode/h264", 500);
    add(gpu, "blur", 200);
    add(gpu, "upload", 60);
    add(gpu, "download", 60);
    add(gpu, "copy", 5);
  }
  return costs;
}

KnownStreams streams_of(const RigConfig& rig, const std::string& codec = "h264", double rate = 25) {
  KnownStreams streams;
  for (const CameraConfig& camera : rig.cameras) streams[camera.name] = {codec, 1920, 1080, rate};
  return streams;
}

RigConfig live_rig_of(int cameras) {
  RigConfig rig = quiet_rig_of(cameras);
  for (CameraConfig& camera : rig.cameras) camera.source.url = "rtsp://host/" + camera.name;
  return rig;
}

Machine cpu_machine_of(unsigned cores, std::uint64_t memory = 64ULL << 30) {
  Machine machine = cpu_machine(cpus(0, cores));
  machine.limits.memory = memory;
  machine.limits.descriptors = 1 << 20;
  return machine;
}

RigNeeds needs_of(const RigConfig& rig, const Machine& machine, const MachineCosts& costs,
                  const KnownStreams& streams) {
  return find_needs(rig, plan(rig, machine), machine.devices, costs, streams);
}

std::vector<ResourceUse> uses_of(const RigConfig& rig, const Machine& machine, const MachineCosts& costs,
                                 const KnownStreams& streams) {
  return resource_uses(needs_of(rig, machine, costs, streams), machine, costs);
}

TEST(RigNeeds, OfTheCpuAreDecodingFiltersAndEncoding) {
  RigConfig rig = live_rig_of(2);
  rig.cameras[1].filters = {{"blur", {{"sigma", 1.5}}}};
  const RigNeeds needs = needs_of(rig, cpu_machine_of(4), invented_costs(), streams_of(rig));
  EXPECT_NEAR(needs.cores.decode, 0.5, 1e-9);
  EXPECT_NEAR(needs.cores.encode, 1.0, 1e-9);
  EXPECT_NEAR(needs.cores.filter, 0.125, 1e-9);
  EXPECT_GT(needs.cores.rest, 0);
  EXPECT_GT(needs.memory, 2 * 1920 * 1080 * 1.5 * 10);
  EXPECT_GT(needs.descriptors.count, 0U);
  EXPECT_THAT(needs.gpus, IsEmpty());
}

TEST(RigNeeds, OfCopiesAreNearlyNothing) {
  RigConfig rig = live_rig_of(1);
  rig.cameras[0].encode.codec = "copy";
  const auto sum = [&] { return needs_of(rig, cpu_machine_of(4), invented_costs(), streams_of(rig)).cores; };
  EXPECT_LT(sum().sum(), 0.01);
  rig.cameras[0].filters = {{"motion", {}}};
  EXPECT_NEAR(sum().decode, 0.25, 1e-9) << "it is decoded for motion";
  EXPECT_NEAR(sum().filter, 0.025, 1e-9) << "half of the frames are looked at";
}

TEST(RigNeeds, OfOutputsAreTheirOwn) {
  RigConfig rig = live_rig_of(1);
  OutputConfig& small = add_output(rig.cameras[0], "small");
  small.filters = {{"resize", {{"width", 960}, {"height", 540}}}};
  small.rate = 5;
  const RigNeeds needs = needs_of(rig, cpu_machine_of(4), invented_costs(), streams_of(rig));
  EXPECT_NEAR(needs.cores.filter, 5 * 0.001, 1e-9);
  EXPECT_NEAR(needs.cores.encode, 25 * 0.02 + 5 * 0.005, 1e-9);
  rig.cameras[0].outputs[0].on_demand = true;
  EXPECT_NEAR(needs_of(rig, cpu_machine_of(4), invented_costs(), streams_of(rig)).cores.encode, 0.5, 1e-9);
}

TEST(RigNeeds, CountNothingThatIsDisabledOrCanWait) {
  RigConfig rig = live_rig_of(2);
  rig.cameras[0].enabled = false;
  rig.cameras[1].source.url = "clip.mp4";
  rig.cameras[1].source.pace = Pace::fast;
  EXPECT_LT(needs_of(rig, cpu_machine_of(4), invented_costs(), streams_of(rig)).cores.sum(), 0.01);
  rig.cameras[1].source.pace = Pace::realtime;
  EXPECT_NEAR(needs_of(rig, cpu_machine_of(4), invented_costs(), streams_of(rig)).cores.decode, 0.25, 1e-9);
}

TEST(RigNeeds, NameCamerasWhoseStreamIsNotKnown) {
  const RigConfig rig = live_rig_of(2);
  KnownStreams streams = streams_of(rig);
  streams.erase("cam1");
  const RigNeeds needs = needs_of(rig, cpu_machine_of(4), invented_costs(), streams);
  EXPECT_THAT(needs.unknown_streams, testing::ElementsAre("cam1"));
  EXPECT_NEAR(needs.cores.decode, 0.25, 1e-9);
}

TEST(RigNeeds, OfFramesThatFiltersRefuseAreNone) {
  RigConfig rig = live_rig_of(1);
  rig.cameras[0].filters = {{"crop", {{"x", 1900}, {"y", 0}, {"width", 100}, {"height", 100}}}};
  EXPECT_LT(needs_of(rig, cpu_machine_of(4), invented_costs(), streams_of(rig)).cores.sum(), 0.01);
}

TEST(RigNeeds, OfAGpuAreItsDecodersItsTimeAndTheBus) {
  RigConfig rig = live_rig_of(2);
  for (CameraConfig& camera : rig.cameras) camera.filters = {{"blur", {{"sigma", 1.5}}}};
  const Machine machine = gpu_machine(2);
  const RigNeeds needs = needs_of(rig, machine, invented_costs(2), streams_of(rig));
  ASSERT_THAT(needs.gpus, SizeIs(2));
  for (const GpuNeeds& gpu : needs.gpus) {
    EXPECT_NEAR(gpu.decode, 25 * 0.0005, 1e-9);
    EXPECT_NEAR(gpu.decode_megapixels, 25 * hd, 1e-9);
    EXPECT_NEAR(gpu.busy, 25 * 0.0002, 1e-9);
    EXPECT_NEAR(gpu.down, 25 * 1.5e6 * hd, 1) << "it has no encoder";
    EXPECT_EQ(gpu.up, 0);
    EXPECT_GT(gpu.memory, 1e9) << "two contexts";
  }
  EXPECT_NEAR(needs.cores.encode, 1.0, 1e-9);
  EXPECT_GT(needs.locked_memory, 0);
  // What the hardware does not decode comes from the CPU.
  const RigNeeds others = needs_of(rig, machine, invented_costs(2), streams_of(rig, "hevc"));
  EXPECT_EQ(others.gpus[0].decode, 0);
  EXPECT_GT(others.gpus[0].up, 0);
  EXPECT_NEAR(others.cores.decode, 0.5, 1e-9);
}

TEST(RigNeeds, OfMosaicsAreCellsAndTheirOwnStream) {
  RigConfig rig = live_rig_of(1);
  rig.cameras[0].encode.codec = "copy";
  CameraConfig& mosaic = rig.cameras.emplace_back();
  mosaic.name = "wall";
  mosaic.mosaic.emplace();
  mosaic.mosaic->rate = 10;
  mosaic.mosaic->cells = {{"cam0", {0, 0, 960, 540}}};
  KnownStreams streams = streams_of(rig);
  streams.erase("wall");
  const RigNeeds needs = needs_of(rig, cpu_machine_of(4), invented_costs(), streams);
  EXPECT_NEAR(needs.cores.decode, 0.25, 1e-9) << "for the mosaic alone";
  EXPECT_NEAR(needs.cores.filter, 10 * 0.001 + 10 * 0.0004, 1e-9) << "its cell, and the drawing";
  EXPECT_NEAR(needs.cores.encode, 10 * 0.02, 1e-9);
  EXPECT_THAT(needs.unknown_streams, IsEmpty());
}

TEST(Shortages, OfCoresNameThePartsAndHowMuch) {
  const RigConfig rig = live_rig_of(8);
  const auto lacking = shortages(uses_of(rig, cpu_machine_of(4), invented_costs(), streams_of(rig)));
  ASSERT_THAT(lacking, SizeIs(1));
  EXPECT_EQ(lacking[0].resource, Resource::cores);
  EXPECT_EQ(describe(lacking),
            "needs 6.0 cores (decoding 2.0, filters 0.0, encoding 4.0, the rest 0.0); the machine has 3.6 to use");
  EXPECT_THAT(shortages(uses_of(live_rig_of(4), cpu_machine_of(4), invented_costs(), streams_of(rig))), IsEmpty());
}

TEST(Shortages, CountWhatACgroupAllows) {
  const RigConfig rig = live_rig_of(4);
  Machine machine = cpu_machine_of(64);
  machine.limits.cores = 2;
  const auto lacking = shortages(uses_of(rig, machine, invented_costs(), streams_of(rig)));
  EXPECT_THAT(describe(lacking), HasSubstr("the machine has 1.8 to use"));
  machine.limits.cores.reset();
  machine.limits.cgroup_memory = 100 << 20;
  EXPECT_THAT(describe(shortages(uses_of(rig, machine, invented_costs(), streams_of(rig)))),
              HasSubstr("MiB of memory; the machine has 90 to use"));
}

TEST(Shortages, OfDecodersAreOfAllGpusTogether) {
  RigConfig rig = live_rig_of(200);
  for (CameraConfig& camera : rig.cameras) add_output(camera, "x").on_demand = true;
  const Machine machine = gpu_machine(2);
  const auto lacking = shortages(uses_of(rig, machine, invented_costs(2), streams_of(rig)));
  std::string decode;
  for (const ResourceUse& use : lacking) {
    if (use.resource == Resource::decode) decode += describe(use) + '\n';
  }
  EXPECT_EQ(decode, "needs 10,368 Mpx/s of decode; the machine's GPUs have 7,880\n");
}

TEST(Shortages, OfOneGpuNameIt) {
  RigConfig rig = live_rig_of(90);
  for (CameraConfig& camera : rig.cameras) camera.gpu = "1";
  const auto lacking = shortages(uses_of(rig, gpu_machine(2), invented_costs(2), streams_of(rig)));
  EXPECT_THAT(describe(lacking), HasSubstr("needs 4,666 Mpx/s of decode; GPU 1 has 3,940 to use"));
}

TEST(Shortages, AreSeenInTheNumbers) {
  EXPECT_EQ(describe(ResourceUse{Resource::cores, "", 1.804, 1.8}), "needs 1.804 cores; the machine has 1.800 to use");
  EXPECT_EQ(describe(ResourceUse{Resource::cores, "", 1.8, 1.8}), "needs 1.8 cores; the machine has 1.8 to use");
  EXPECT_EQ(describe(ResourceUse{Resource::memory, "", 1234.25 * (1 << 20), 1234.0 * (1 << 20)}),
            "needs 1,234.2 MiB of memory; the machine has 1,234.0 to use");
}

TEST(Shortages, OfOneThreadAreFoundOnAnyMachine) {
  RigConfig rig = live_rig_of(1);
  const KnownStreams fast = streams_of(rig, "h264", 120);
  const auto describe_all = [&] {
    return describe(shortages(uses_of(rig, cpu_machine_of(64), invented_costs(), fast)));
  };
  EXPECT_THAT(describe_all(), HasSubstr("cam0: decoding needs 120 % of one thread, and can use 95"));
  rig.cameras[0].decode_threads = 2;
  EXPECT_THAT(describe_all(), Not(HasSubstr("cam0: decoding")));
}

TEST(Shortages, OfDescriptorsNameTheProcess) {
  const RigConfig rig = live_rig_of(50);
  Machine machine = cpu_machine_of(64);
  machine.limits.descriptors = 100;
  EXPECT_THAT(describe(shortages(uses_of(rig, machine, invented_costs(), streams_of(rig)))),
              HasSubstr("descriptors; the limit is 100 (ulimit -Hn, LimitNOFILE=)"));
}

// Nobody is refused for a guess that may be off by a factor of two.
TEST(Shortages, ByEstimatesCountHalf) {
  const RigConfig rig = live_rig_of(8);  // 6 of 3.6 cores
  MachineCosts costs = invented_costs();
  costs.cpu.measured.clear();
  EXPECT_THAT(shortages(uses_of(rig, cpu_machine_of(4), costs, streams_of(rig))), IsEmpty());
  const RigConfig larger = live_rig_of(10);  // 7.5 of 3.6
  EXPECT_THAT(describe(shortages(uses_of(larger, cpu_machine_of(4), costs, streams_of(larger)))),
              HasSubstr("(estimated; `campipe calibrate-costs` measures it)"));
}

TEST(FindCapacity, SaysHowManyMoreFitAndWhatIsShortThen) {
  RigConfig rig = live_rig_of(2);
  rig.cameras[1].encode.codec = "copy";
  const MachineCosts costs = invented_costs();
  const Machine machine = cpu_machine_of(8);
  const Capacity capacity = find_capacity(rig, machine, costs, streams_of(rig));
  ASSERT_THAT(capacity.cameras, SizeIs(2));
  const CameraRoom& encoded = capacity.cameras[0];
  EXPECT_EQ(encoded.camera, "cam0");
  EXPECT_EQ(encoded.bottleneck, "cores");
  EXPECT_THAT(encoded.reason, StartsWith("needs 7."));
  // 0.25 + 0.5 of a core each, and a little: 7.2 / 0.75 is 9.6.
  EXPECT_EQ(encoded.more, 8U);
  EXPECT_EQ(capacity.cameras[1].bottleneck, "") << "copies do not fill it";
  EXPECT_EQ(capacity.cameras[1].more, most_cameras - 2);
}

// The number is exact: with so many nothing is short, with one more something is.
TEST(FindCapacity, IsTheLastThatFits) {
  for (const unsigned cores : {2U, 5U, 16U, 64U}) {
    const RigConfig rig = live_rig_of(1);
    const Machine machine = cpu_machine_of(cores);
    const Capacity capacity = find_capacity(rig, machine, invented_costs(), streams_of(rig));
    const auto is_short = [&](unsigned cameras) {
      const RigConfig larger = live_rig_of(static_cast<int>(cameras));
      return !shortages(uses_of(larger, machine, invented_costs(), streams_of(larger))).empty();
    };
    const unsigned all = 1 + capacity.cameras[0].more;
    EXPECT_FALSE(is_short(all)) << all << " on " << cores;
    EXPECT_TRUE(is_short(all + 1)) << all << " on " << cores;
  }
}

TEST(FindCapacity, IsNoneWhereTheRigIsTooLargeAlready) {
  const RigConfig rig = live_rig_of(10);
  const Capacity capacity = find_capacity(rig, cpu_machine_of(2), invented_costs(), streams_of(rig));
  ASSERT_THAT(capacity.cameras, SizeIs(10));
  EXPECT_EQ(capacity.cameras[3].more, 0U);
  EXPECT_EQ(capacity.cameras[3].bottleneck, "cores");
}

TEST(FindCapacity, IsNotBoundByAnotherCamerasThread) {
  RigConfig rig = live_rig_of(2);
  rig.cameras[0].encode.codec = "copy";
  KnownStreams streams = streams_of(rig);
  streams.at("cam1").rate = 120;  // more than a thread decodes
  const Capacity capacity = find_capacity(rig, cpu_machine_of(64), invented_costs(), streams);
  EXPECT_EQ(capacity.cameras[0].more, most_cameras - 2);
  EXPECT_EQ(capacity.cameras[1].more, 0U);
  EXPECT_EQ(capacity.cameras[1].bottleneck, "one thread");
}

TEST(ConfiguredStream, IsThatOfTestPatterns) {
  CameraConfig camera;
  camera.source.url = "test://pattern?width=640&height=480&rate=12.5";
  const auto stream = configured_stream(camera);
  ASSERT_TRUE(stream);
  EXPECT_EQ(*stream, (KnownStream{"pattern", 640, 480, 12.5}));
  camera.source.url = "rtsp://host/a";
  EXPECT_FALSE(configured_stream(camera));
  camera.source.url = "a.mp4";
  EXPECT_FALSE(configured_stream(camera));
}

TEST(KnownStream, IsNothingThatCannotBe) {
  SourceStream source;
  source.decoder = "pattern";
  source.width = 320;
  source.height = 240;
  source.frame_rate = 1e12;
  EXPECT_EQ(known_stream(source), (KnownStream{"pattern", 320, 240, 0}));
  source.frame_rate = 30;
  source.rotation = 90;
  EXPECT_EQ(known_stream(source), (KnownStream{"pattern", 240, 320, 30}));
  EXPECT_TRUE(is_possible(known_stream(source)));
  for (const KnownStream& wrong : {KnownStream{"h264", -1, 1, 25}, KnownStream{"h264", 1, 1, -1},
                                   KnownStream{"no such", 1, 1, 25}, KnownStream{"h264", 1 << 20, 1, 25}})
    EXPECT_FALSE(is_possible(wrong));
}

TEST(MachineCosts, AreEstimatedWithAReasonWhereTheyWereNotMeasured) {
  Machine machine = gpu_machine(2);
  CostCache cache;
  const CostKey cpu{"cpu", "a CPU", "FFmpeg", CAMPIPE_VERSION};
  cache.devices.push_back({cpu, "2026-11-25", {}});
  const MachineCosts costs = machine_costs(cache, machine.devices, cpu);
  EXPECT_FALSE(costs.cpu.estimated());
  ASSERT_THAT(costs.gpus, SizeIs(2));
  EXPECT_TRUE(costs.gpus[1].estimated());
  EXPECT_THAT(costs.reasons, testing::ElementsAre("Test GPU has not been measured")) << "once, of two";
  EXPECT_EQ(&costs.of(gpu_number(1)), &costs.gpus[1]);
  EXPECT_EQ(&costs.of({}), &costs.cpu);
  EXPECT_NE(costs.cpu.find("encode/libx264"), nullptr)
      << "what was not measured is estimated, and does not cost nothing";
  EXPECT_THAT(machine_costs({{}, "the file is garbage"}, {}, cpu).reasons, testing::ElementsAre("the file is garbage"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
