// The graph of what a rig runs, on machines that are invented.
#include "app/placement/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/placement/quarantine.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using NodeKind = GraphNode::Kind;
using EdgeKind = GraphEdge::Kind;

const GraphNode& node_of(const Graph& graph, NodeKind kind, const std::string& name) {
  const auto found =
      std::ranges::find_if(graph.nodes, [&](const GraphNode& n) { return n.kind == kind && n.name == name; });
  if (found == graph.nodes.end()) throw std::runtime_error("no such node: " + name);
  return *found;
}

std::vector<const GraphEdge*> edges_from(const Graph& graph, const GraphNode& node) {
  std::vector<const GraphEdge*> found;
  for (const GraphEdge& edge : graph.edges) {
    if (&graph.nodes.at(edge.from) == &node) found.push_back(&edge);
  }
  return found;
}

// The edge of a camera's frames.
const GraphEdge& frames_of(const Graph& graph, const std::string& camera) {
  for (const GraphEdge* edge : edges_from(graph, node_of(graph, NodeKind::source, camera))) {
    if (edge->kind == EdgeKind::frames) return *edge;
  }
  throw std::runtime_error("no frame ring of " + camera);
}

std::vector<std::string> names_of(const std::vector<GraphProcess>& processes) {
  std::vector<std::string> names;
  for (const GraphProcess& process : processes) names.push_back(process.name);
  return names;
}

// Where the packets of an output come from: "source dock".
std::string maker_of(const Graph& graph, const std::string& output) {
  const GraphNode& to = node_of(graph, NodeKind::output, output);
  std::string makers;
  for (const GraphEdge& edge : graph.edges) {
    if (&graph.nodes.at(edge.to) != &to) continue;
    const GraphNode& from = graph.nodes.at(edge.from);
    makers += (from.kind == NodeKind::source ? "source " : "node ") + from.name;
  }
  return makers;
}

// --- what there is -------------------------------------------------------------------------------------------------

TEST(Graph, HasASourceANodeAndAnOutputForACamera) {
  RigConfig rig = quiet_rig_of(3, 2);
  rig.cameras[0].filters = {{"resize", {}}, {"blur", {}}};
  const Graph graph = graph_of(rig, cpu_machine({0, 1}));
  EXPECT_THAT(names_of(graph.processes), ElementsAre("source", "master", "worker 0", "worker 1", "publisher"));
  EXPECT_THAT(graph.processes[2].cpus, ElementsAre(0));
  EXPECT_DOUBLE_EQ(graph.processes[2].encode_cores, 0.5);
  EXPECT_THAT(graph.nodes, SizeIs(9));
  EXPECT_THAT(graph.edges, SizeIs(6));

  const GraphNode& source = node_of(graph, NodeKind::source, "cam0");
  EXPECT_EQ(source.process, "source");
  EXPECT_EQ(source.decoded_in, "master");
  EXPECT_EQ(source.gpu, "cpu");
  EXPECT_EQ(source.decoder, "libavcodec");
  EXPECT_THAT(source.streams, IsEmpty());

  const GraphEdge& frames = frames_of(graph, "cam0");
  EXPECT_EQ(frames.memory, MemoryKind::host);
  EXPECT_EQ(frames.ready, ReadySignal::immediate);
  EXPECT_FALSE(frames.on_demand);
  EXPECT_EQ(frames.reason, "the CPU decodes (no GPU can be used)");

  const GraphNode& node = graph.nodes.at(frames.to);
  EXPECT_EQ(node.kind, NodeKind::node);
  EXPECT_EQ(node.process, "worker 0");
  EXPECT_EQ(node_of(graph, NodeKind::node, "cam1").process, "worker 1");
  EXPECT_EQ(node_of(graph, NodeKind::node, "cam2").process, "worker 0");
  ASSERT_THAT(node.streams, SizeIs(1));
  EXPECT_THAT(node.streams[0].filters, ElementsAre("resize", "blur"));
  EXPECT_EQ(node.streams[0].codec, "h264");
  EXPECT_EQ(node.streams[0].encoder, "libx264");
  EXPECT_EQ(maker_of(graph, "cam0"), "node cam0");
  EXPECT_EQ(node_of(graph, NodeKind::output, "cam0").process, "publisher");
  EXPECT_THAT(node_of(graph, NodeKind::output, "cam0").sinks, IsEmpty());
}

// The CPU's is there if something is decoded on the CPU.
TEST(Graph, HasAMasterForEachDeviceThatDecodes) {
  RigConfig rig = quiet_rig_of(4);
  rig.cameras[0].gpu = "1";
  rig.cameras[1].gpu = "0";
  rig.cameras[2].gpu = "1";
  rig.cameras[3].gpu = "cpu";
  const auto masters_of = [](const Graph& graph) {
    std::vector<std::string> masters;
    for (const GraphProcess& process : graph.processes) {
      if (process.name.starts_with("master")) masters.push_back(process.name);
    }
    return masters;
  };
  const Machine machine = gpu_machine(2);
  const Graph graph = graph_of(rig, machine);
  EXPECT_THAT(masters_of(graph), ElementsAre("master", "master 0", "master 1"));
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam0").decoded_in, "master 1");
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam1").decoded_in, "master 0");
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam2").decoded_in, "master 1");
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam3").decoded_in, "master");
  const GraphProcess& second = graph.processes.at(3);
  ASSERT_EQ(second.name, "master 1");
  EXPECT_EQ(second.gpu, "1");
  EXPECT_EQ(second.cpus, machine.devices.gpus[1].cpus) << "near its GPU";
  EXPECT_FALSE(to_json(graph).at("processes").at(3).contains("encode_cores"));
  rig.cameras[3].gpu = "0";
  EXPECT_THAT(masters_of(graph_of(rig, machine)), ElementsAre("master 0", "master 1"));
  rig.cameras[3].decode_gpu = "cpu";
  EXPECT_THAT(masters_of(graph_of(rig, machine)), ElementsAre("master", "master 0", "master 1"));
  for (CameraConfig& camera : rig.cameras) camera.encode.codec = "copy";
  EXPECT_THAT(masters_of(graph_of(rig, machine)), IsEmpty()) << "nothing is decoded";
}

// The first eight have masters of their own.
TEST(Graph, HasMastersForCamerasThatAreDecodedApart) {
  RigConfig rig = quiet_rig_of(11);
  for (unsigned c = 1; c < 11; ++c) rig.cameras[c].decode_isolation = DecodeIsolation::always;
  rig.cameras[2].enabled = false;
  const Graph graph = graph_of(rig, gpu_machine(1));
  EXPECT_THAT(names_of(graph.processes),
              ElementsAre("source", "master 0", "master q0", "master q1", "master q2", "master q3", "master q4",
                          "master q5", "master q6", "master q7", "worker 0", "publisher"));
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam0").decoded_in, "master 0");
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam1").decoded_in, "master q0");
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam1").decoder, "nvdec");
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam3").decoded_in, "master q1") << "nothing of cam2 runs";
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam9").decoded_in, "master q7");
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam10").decoded_in, "master q7");
  rig.cameras[1].decode_isolation = DecodeIsolation::automatic;
  EXPECT_EQ(node_of(graph_of(rig, gpu_machine(1)), NodeKind::source, "cam1").decoded_in, "master 0");
}

TEST(Quarantine, GivesTheFirstFreeMaster) {
  EXPECT_EQ(free_quarantine({}), 0U);
  EXPECT_EQ(free_quarantine({0, 1, 3}), 2U);
  EXPECT_EQ(free_quarantine({0, 1, 2, 3, 4, 5, 6}), 7U);
  EXPECT_EQ(free_quarantine({0, 1, 2, 3, 4, 5, 6, 7}), 7U) << "the last one is shared";
}

TEST(Graph, HasNothingOfWhatIsDisabled) {
  RigConfig rig = quiet_rig_of(3, 3);
  rig.cameras[1].enabled = false;
  const Graph graph = graph_of(rig, cpu_machine({0, 1}));
  EXPECT_THAT(names_of(graph.processes), ElementsAre("source", "master", "worker 0", "worker 2", "publisher"))
      << "workers keep their numbers";
  for (const GraphNode& node : graph.nodes) EXPECT_NE(node.name, "cam1");
  for (CameraConfig& camera : rig.cameras) camera.enabled = false;
  EXPECT_THAT(graph_of(rig, cpu_machine({0, 1})).processes, IsEmpty());
  rig.server.http_address = ":8080";
  EXPECT_THAT(names_of(graph_of(rig, cpu_machine({0, 1})).processes), ElementsAre("publisher"));
}

// With the size that the source is known to have, or else one that is assumed, and said to be.
TEST(Graph, NotesTilesThatCannotPayWithTheSizeOfTheFrames) {
  RigConfig rig = quiet_rig_of(2, 2);
  rig.cameras[0].source.url = "test://pattern?width=160&height=120";
  rig.cameras[1].source.url = "rtsp://127.0.0.1/a";
  for (CameraConfig& camera : rig.cameras) {
    camera.filters = {{"crop", {{"x", 0}, {"y", 0}, {"width", 128}, {"height", 96}}}};
    camera.placement.emplace().tiles = {"cpu", "cpu"};
  }
  EXPECT_THAT(graph_of(rig, cpu_machine({0, 1})).notes,
              ElementsAre(HasSubstr("cam0: tiles do not make it faster: for a frame of 160x120 its filters take"),
                          HasSubstr("for a frame of 3840x2160 (assumed, as the source is not open) its filters take")));
}

TEST(Graph, CopiesComeFromTheSourceAndNeedNoOther) {
  RigConfig rig = quiet_rig_of(1);
  rig.cameras[0].encode.codec = "copy";
  const Graph graph = graph_of(rig, gpu_machine(1));
  EXPECT_THAT(names_of(graph.processes), ElementsAre("source", "publisher"));
  EXPECT_THAT(graph.nodes, SizeIs(2));
  ASSERT_THAT(graph.edges, SizeIs(1));
  EXPECT_EQ(graph.edges[0].kind, EdgeKind::packets);
  EXPECT_EQ(maker_of(graph, "cam0"), "source cam0");
  const GraphNode& source = node_of(graph, NodeKind::source, "cam0");
  EXPECT_EQ(source.decoder, "");
  EXPECT_EQ(source.gpu, "cpu");
  EXPECT_FALSE(source.decodes_for_copies);
  ASSERT_THAT(source.streams, SizeIs(1));
  EXPECT_EQ(source.streams[0].codec, "copy");
  EXPECT_EQ(source.streams[0].encoder, "");
}

TEST(Graph, AnAutomaticCodecBeginsAsACopy) {
  RigConfig rig = quiet_rig_of(1);
  rig.cameras[0].encode.codec = "auto";
  const Graph graph = graph_of(rig, gpu_machine(1));
  EXPECT_EQ(maker_of(graph, "cam0"), "source cam0");
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam0").decoder, "");
  EXPECT_THAT(graph.edges.at(0).reason, HasSubstr("codec: auto"));
}

TEST(Graph, EachOutputHasFiltersAndAnEncoderOfItsOwn) {
  RigConfig rig = quiet_rig_of(1);
  CameraConfig& camera = rig.cameras[0];
  camera.filters = {{"undistort", {}}};
  camera.record.emplace().path = "a.mp4";
  add_output(camera, "small", "hevc").filters = {{"resize", {}}};
  add_output(camera, "raw", "copy").push.resize(2);
  const Graph graph = graph_of(rig, cpu_machine({0}));
  EXPECT_EQ(maker_of(graph, "cam0"), "node cam0");
  EXPECT_EQ(maker_of(graph, "cam0/small"), "node cam0");
  EXPECT_EQ(maker_of(graph, "cam0/raw"), "source cam0");
  const GraphNode& node = node_of(graph, NodeKind::node, "cam0");
  ASSERT_THAT(node.streams, SizeIs(2));
  EXPECT_THAT(node.streams[0].filters, ElementsAre("undistort"));
  EXPECT_THAT(node.streams[1].filters, ElementsAre("undistort", "resize"));
  EXPECT_EQ(node.streams[1].output, "cam0/small");
  EXPECT_EQ(node.streams[1].encoder, "libx265");
  EXPECT_THAT(node_of(graph, NodeKind::output, "cam0").sinks, ElementsAre("record"));
  EXPECT_THAT(node_of(graph, NodeKind::output, "cam0/raw").sinks, ElementsAre("push"));

  camera.encode.codec = "copy";
  camera.filters.clear();
  const Graph copied = graph_of(rig, cpu_machine({0}));
  EXPECT_EQ(maker_of(copied, "cam0"), "source cam0");
  EXPECT_THAT(node_of(copied, NodeKind::node, "cam0").streams.at(0).filters, ElementsAre("resize"));
}

TEST(Graph, WhatOnlyViewersNeedIsThereOnDemand) {
  RigConfig rig = quiet_rig_of(1);
  rig.cameras[0].encode.codec = "copy";
  add_output(rig.cameras[0], "browser").on_demand = true;
  const Graph graph = graph_of(rig, cpu_machine({0}));
  EXPECT_TRUE(frames_of(graph, "cam0").on_demand);
  const GraphNode& node = node_of(graph, NodeKind::node, "cam0");
  EXPECT_TRUE(node.streams.at(0).on_demand);
  EXPECT_TRUE(edges_from(graph, node).at(0)->on_demand);
  rig.cameras[0].encode.codec = "hevc";
  const Graph encoded = graph_of(rig, cpu_machine({0}));
  EXPECT_FALSE(frames_of(encoded, "cam0").on_demand) << "the camera's own stream needs the frames, too";
  EXPECT_TRUE(edges_from(encoded, node_of(encoded, NodeKind::node, "cam0")).at(1)->on_demand);
}

TEST(Graph, FiltersOfCopiesHaveADecoderOfTheirOwnUnlessTheCpuDecodesAnyway) {
  RigConfig rig = quiet_rig_of(1);
  CameraConfig& camera = rig.cameras[0];
  camera.encode.codec = "copy";
  camera.filters = {{"motion", {}}};
  const auto source_on = [&](const Machine& machine) {
    return node_of(graph_of(rig, machine), NodeKind::source, "cam0");
  };
  EXPECT_TRUE(source_on(cpu_machine({0})).decodes_for_copies);
  EXPECT_THAT(source_on(cpu_machine({0})).streams.at(0).filters, ElementsAre("motion"));
  OutputConfig& small = add_output(camera, "small");
  EXPECT_FALSE(source_on(cpu_machine({0})).decodes_for_copies);
  EXPECT_TRUE(source_on(gpu_machine(1)).decodes_for_copies) << "the frames are in the GPU's memory";
  small.on_demand = true;
  EXPECT_TRUE(source_on(cpu_machine({0})).decodes_for_copies) << "the frames are not always there";
}

// --- memory and signals --------------------------------------------------------------------------------------------

TEST(GpuGraph, RingsOfAGpuHaveTheMemoryAndTheSignalOfThePlan) {
  Machine machine = gpu_machine(2);
  pair_of(machine, 0, 1).sharing[MemoryKind::cuda_vmm] = "no peer access";
  RigConfig rig = quiet_rig_of(3);
  rig.cameras[1].gpu = "1";
  rig.cameras[1].decode_gpu = "0";
  rig.cameras[2].gpu = "1";
  rig.cameras[2].ipc_memory = MemoryKind::host;
  rig.cameras[2].ready_signal = ReadySignal::timeline;
  const Graph graph = graph_of(rig, machine);
  const RigPlan placed = plan(rig, machine);
  for (unsigned c = 0; c < 3; ++c) {
    const GraphEdge& frames = frames_of(graph, "cam" + std::to_string(c));
    EXPECT_EQ(frames.memory, placed.cameras[c].placement.memory);
    EXPECT_EQ(frames.ready, placed.cameras[c].placement.ready);
  }
  EXPECT_EQ(frames_of(graph, "cam0").memory, MemoryKind::cuda_vmm);
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam0").decoder, "nvdec");
  EXPECT_EQ(frames_of(graph, "cam1").memory, MemoryKind::cuda_legacy);
  EXPECT_EQ(node_of(graph, NodeKind::source, "cam1").gpu, "0");
  EXPECT_EQ(node_of(graph, NodeKind::node, "cam1").gpu, "1");
  EXPECT_EQ(node_of(graph, NodeKind::node, "cam1").process, "worker 1");
  EXPECT_EQ(frames_of(graph, "cam1").reason,
            "from GPU 0 to GPU 1, link; ipc_memory: auto (host works, 55 GB/s; cuda_vmm does not: no peer access; "
            "cuda_legacy "
            "works, 395 GB/s; cuda_fabric does not: not permitted); ready_signal: auto");
  EXPECT_EQ(frames_of(graph, "cam2").memory, MemoryKind::host);
  EXPECT_EQ(frames_of(graph, "cam2").ready, ReadySignal::timeline) << "page-locked memory that the GPU fills";
  EXPECT_THAT(frames_of(graph, "cam2").reason, HasSubstr("ipc_memory: host"));
  EXPECT_THAT(frames_of(graph, "cam2").reason, EndsWith("ready_signal: timeline"));
  EXPECT_EQ(graph.processes.at(4).name, "worker 1");
  EXPECT_EQ(graph.processes.at(4).gpu, "1");
}

TEST(GpuGraph, WhatTheCpuFillsIsInHostMemoryWhateverTheGpusShare) {
  struct Case {
    const char* what;
    void (*change)(CameraConfig&, Machine&);
    const char* decoder;
    const char* reason;
  };
  const std::vector<Case> cases{
      {"decoding", [](CameraConfig& c, Machine&) { c.decode_gpu = "cpu"; }, "libavcodec", "decode.gpu: cpu"},
      {"camera", [](CameraConfig& c, Machine&) { c.gpu = "cpu"; }, "libavcodec", "gpu: cpu"},
      {"pattern", [](CameraConfig& c, Machine&) { c.source.url = "test://pattern"; }, "pattern",
       "a test pattern is not decoded"},
      {"no decoder", [](CameraConfig&, Machine& m) { m.devices.gpus[0].decoders[0].problem = "not on this GPU"; },
       "libavcodec", "GPU 0 decodes nothing"},
      {"no GPU",
       [](CameraConfig&, Machine& m) {
         m = {cpus(0, 2), {{}, {}, false, "no NVIDIA driver"}};
       },
       "libavcodec", "no GPU: no NVIDIA driver"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    Machine machine = gpu_machine(1);
    RigConfig rig = quiet_rig_of(1);
    one.change(rig.cameras[0], machine);
    const Graph graph = graph_of(rig, machine);
    const GraphEdge& frames = frames_of(graph, "cam0");
    EXPECT_EQ(frames.memory, MemoryKind::host);
    EXPECT_EQ(frames.ready, ReadySignal::immediate);
    EXPECT_EQ(frames.reason, "the CPU decodes (" + std::string(one.reason) + ")");
    EXPECT_EQ(graph.nodes.at(frames.from).gpu, "cpu");
    EXPECT_EQ(graph.nodes.at(frames.from).decoder, one.decoder);
  }
}

TEST(GpuGraph, TheGpusEncoderIsUsedWhereItWorksAndNothingElseIsWanted) {
  Machine machine = gpu_machine(1);
  RigConfig rig = quiet_rig_of(1);
  CameraConfig& camera = rig.cameras[0];
  const auto encoder = [&] { return node_of(graph_of(rig, machine), NodeKind::node, "cam0").streams.at(0).encoder; };
  EXPECT_EQ(encoder(), "libx264");
  machine.devices.gpus[0].encoders[0].problem.clear();
  EXPECT_EQ(encoder(), "h264_nvenc");
  camera.snapshot.emplace();
  EXPECT_EQ(encoder(), "libx264") << "frames are needed in host memory";
  camera.snapshot.reset();
  camera.encode.encoder = "libx264";
  EXPECT_EQ(encoder(), "libx264");
  camera.encode.encoder = "auto";
  camera.encode.codec = "mjpeg";
  EXPECT_EQ(encoder(), "mjpeg");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
