// The forms in which the graph of a rig is shown: for people, for Graphviz, for programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "app/placement/graph.h"
#include "tests/paths.h"
#include "tests/unit/config_test_support.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using NodeKind = GraphNode::Kind;

// --- for people ----------------------------------------------------------------------------------------------------

TEST(GraphText, IsALineForACameraWithOneStream) {
  RigConfig rig = quiet_rig_of(3, 2);
  rig.cameras[2].filters = {{"resize", {}}, {"blur", {}}};
  EXPECT_EQ(describe(graph_of(rig, cpu_machine({0, 1}))),
            "source  all cores\n"
            "master  all cores\n"
            "worker 0  cpu  cores 0  2 cameras, 0.5 cores for each output\n"
            "  cam0: libavcodec in master -> host, immediate -> h264 (libx264)\n"
            "  cam2: libavcodec in master -> host, immediate -> resize, blur -> h264 (libx264)\n"
            "worker 1  cpu  cores 1  1 camera, 1.0 cores for each output\n"
            "  cam1: libavcodec in master -> host, immediate -> h264 (libx264)\n"
            "publisher  all cores\n"
            "rings\n"
            "  3 x frame ring (host, immediate): the CPU decodes (no GPU can be used)\n"
            "  3 x packet ring (host, immediate): packets are in host memory\n");
}

TEST(GraphText, ShowsGpusCopiesAndOutputs) {
  Machine machine = gpu_machine(1);
  machine.devices.gpus[0].encoders[0].problem.clear();
  RigConfig rig = quiet_rig_of(3);
  add_output(rig.cameras[0], "raw", "copy").filters = {{"motion", {}}};
  rig.cameras[1].encode.codec = "copy";
  add_output(rig.cameras[1], "browser").on_demand = true;
  rig.cameras[2].encode.codec = "auto";
  const std::string facts =
      "from GPU 0 to GPU 0, link; ipc_memory: auto (host works, 55 GB/s; cuda_vmm works, 390 GB/s; cuda_legacy works, "
      "395 GB/s; cuda_fabric does "
      "not: not permitted); ready_signal: auto\n";
  EXPECT_EQ(describe(graph_of(rig, machine)),
            "source  all cores\n"
            "  cam2: copy\n"
            "master 0  GPU 0  cores 0-7\n"
            "worker 0  GPU 0  cores 0-7  2 cameras, 8.0 cores for each output\n"
            "  cam0: nvdec on GPU 0 in master 0 -> cuda_vmm, ipc_event\n"
            "    cam0: h264 (h264_nvenc)\n"
            "    cam0/raw: motion (libavcodec) -> copy\n"
            "  cam1: nvdec on GPU 0 in master 0 -> cuda_vmm, ipc_event, on demand\n"
            "    cam1: copy\n"
            "    cam1/browser: h264 (h264_nvenc), on demand\n"
            "publisher  all cores\n"
            "rings\n"
            "  2 x frame ring (cuda_vmm, ipc_event): " +
                facts +
                "  2 x packet ring (host, immediate): packets are in host memory\n"
                "  2 x packet ring (host, immediate): packets are in host memory; codec: copy\n"
                "  1 x packet ring (host, immediate): packets are in host memory; codec: auto, encoded if not every "
                "player plays what comes\n");
}

TEST(GraphText, ShowsWhatAnotherNodeDoes) {
  RigConfig rig = quiet_rig_of(1, 1);
  rig.cameras[0].filters = {{"blur", {}}, {"sharpen", {}}};
  rig.cameras[0].placement = StagePlacement{"cpu", {"cpu", "west/0"}, "cpu"};
  const Graph graph = graph_of(rig, cpu_machine({0}));
  EXPECT_EQ(describe(graph),
            "source  all cores\n"
            "master  all cores\n"
            "worker 0  cpu  all cores  1 camera, 1.0 cores for each output\n"
            "  cam0: libavcodec in master -> host, immediate -> blur -> frames\n"
            "  cam0: host, immediate -> h264 (libx264)\n"
            "link  all cores\n"
            "  cam0: host, immediate -> sharpen -> frames, on west/0\n"
            "publisher  all cores\n"
            "rings\n"
            "  1 x frame ring (host, immediate): the CPU decodes (placement.decode: cpu)\n"
            "  1 x frame ring (host, immediate): a node on the CPU makes the frames\n"
            "  1 x frame ring (host, immediate): frames come from west/0 over the network\n"
            "  1 x packet ring (host, immediate): packets are in host memory\n");
  EXPECT_THAT(to_dot(graph), HasSubstr("label=\"link\""));
}

TEST(GraphText, IsShortForManyCameras) {
  const std::string text = describe(graph_of(quiet_rig_of(100), gpu_machine(4)));
  EXPECT_LE(std::ranges::count(text, '\n'), 100 + 20);
}

// --- for Graphviz --------------------------------------------------------------------------------------------------

RigConfig mixed_rig() {
  RigConfig rig = rig_of(4);
  add_output(rig.cameras[0], "small").filters = {{"resize", {}}};
  rig.cameras[1].encode.codec = "copy";
  add_output(rig.cameras[1], "browser").on_demand = true;
  rig.cameras[2].gpu = "cpu";
  rig.cameras[3].encode.codec = "copy";
  rig.cameras[3].filters = {{"motion", {}}};
  rig.cameras[3].record.emplace().path = "a.mp4";
  rig.cameras[3].push.resize(1);
  return rig;
}

Machine rude_machine() {
  Machine machine = gpu_machine(2);
  for (GpuPair& pair : machine.devices.pairs) pair.sharing[MemoryKind::cuda_fabric] = "error \"7\" \\ in\n[a] {b}";
  return machine;
}

std::set<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

TEST(GraphDot, DrawsEachNodeInItsProcessAndEachEdge) {
  const Graph graph = graph_of(mixed_rig(), rude_machine());
  const std::string dot = to_dot(graph);
  for (const GraphProcess& process : graph.processes)
    EXPECT_THAT(dot, HasSubstr("subgraph \"cluster " + process.name + "\" {")) << process.name;
  const auto drawn = all_matches(dot, std::regex(R"re(\n    (n\d+) \[label=")re"));
  EXPECT_THAT(drawn, SizeIs(graph.nodes.size()));
  EXPECT_THAT(all_matches(dot, std::regex(R"re(\n  (n\d+ -> n\d+) \[)re")), SizeIs(graph.edges.size()));
  for (const auto& end : all_matches(dot, std::regex(R"re((n\d+) -> )re"))) EXPECT_THAT(drawn, Contains(end));
  for (const auto& end : all_matches(dot, std::regex(R"re( -> (n\d+) \[)re"))) EXPECT_THAT(drawn, Contains(end));
  EXPECT_THAT(dot, HasSubstr("label=\"cam0\\nh264 (libx264)\\n/small: resize -> h264 (libx264)\""));
  EXPECT_THAT(dot, HasSubstr("label=\"cam0\\nnvdec on GPU 0 in master 0\""));
  EXPECT_THAT(dot, HasSubstr("label=\"cuda_vmm\\nipc_event\""));
}

// Outside of quotes are words, numbers and these signs only; braces and brackets are balanced there.
TEST(GraphDot, QuotesWhatDriversSay) {
  const std::string dot = to_dot(graph_of(mixed_rig(), rude_machine()));
  const std::string bare = std::regex_replace(dot, std::regex(R"re("(?:[^"\\\n]|\\[^\n])*")re"), "");
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyz_0123456789LR {}[]=;,.->\n";
  EXPECT_EQ(bare.find_first_not_of(plain), std::string::npos) << bare;
  EXPECT_EQ(std::ranges::count(bare, '{'), std::ranges::count(bare, '}'));
  EXPECT_EQ(std::ranges::count(bare, '['), std::ranges::count(bare, ']'));
}

TEST(GraphDot, IsReadByGraphviz) {
  if (std::system("dot -V > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no Graphviz here";
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "plan.dot").string();
  test::replace_file(file, to_dot(graph_of(mixed_rig(), rude_machine())));
  EXPECT_EQ(std::system(("dot -Tplain '" + file + "' > '" + file + ".txt'").c_str()), 0);
  EXPECT_TRUE(std::filesystem::file_size(file + ".txt") > 0);
}

// --- for programs --------------------------------------------------------------------------------------------------

TEST(GraphJson, HasWhatTheGraphHas) {
  const Graph graph = graph_of(mixed_rig(), gpu_machine(2));
  const json read = json::parse(to_json(graph).dump());
  ASSERT_EQ(read.at("processes").size(), graph.processes.size());
  ASSERT_EQ(read.at("nodes").size(), graph.nodes.size());
  ASSERT_EQ(read.at("edges").size(), graph.edges.size());
  std::set<std::string> ids;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const json& node = read["nodes"][n];
    EXPECT_TRUE(ids.insert(node.at("id")).second) << node;
    EXPECT_EQ(node.at("name"), graph.nodes[n].name);
    EXPECT_EQ(node.at("process"), graph.nodes[n].process);
    if (graph.nodes[n].kind == NodeKind::output) {
      EXPECT_EQ(node.at("sinks"), json(graph.nodes[n].sinks));
    } else {
      EXPECT_EQ(node.at("streams").size(), graph.nodes[n].streams.size());
    }
  }
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const json& edge = read["edges"][e];
    EXPECT_EQ(edge.at("from"), read["nodes"][graph.edges[e].from].at("id"));
    EXPECT_EQ(edge.at("to"), read["nodes"][graph.edges[e].to].at("id"));
    EXPECT_EQ(edge.at("reason"), graph.edges[e].reason);
  }
  const json& frames = read["edges"][0];
  EXPECT_EQ(frames.at("kind"), "frame ring");
  EXPECT_EQ(frames.at("from"), "source cam0");
  EXPECT_EQ(frames.at("to"), "node cam0");
  EXPECT_EQ(frames.at("memory"), "cuda_vmm");
  EXPECT_EQ(frames.at("ready_signal"), "ipc_event");
}

std::string text_of_page() {
  std::ifstream file(std::string(test::source_folder) + "/docs/placement.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// ".nodes[].streams[].codec", for each.
void collect_fields(const json& value, const std::string& path, std::set<std::string>& fields) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) collect_fields(member, path + "." + key, fields);
  } else if (value.is_array() && !value.empty() && value.front().is_object()) {
    for (const json& entry : value) collect_fields(entry, path + "[]", fields);
  } else {
    fields.insert(path);
  }
}

TEST(PlacementPage, ListsTheFieldsOfTheJson) {
  std::set<std::string> fields;
  RigConfig rig = mixed_rig();
  CameraConfig& wall = rig.cameras.emplace_back();
  wall.name = "wall";
  wall.mosaic.emplace().cells = {{rig.cameras.front().name, {0, 0, 320, 240}}};
  CameraConfig& shared = rig.cameras.emplace_back(rig.cameras.front());
  shared.name = "shared";
  shared.filters = {{"blur", {}}};
  shared.placement = StagePlacement{"auto", {"west/0"}, "auto"};
  rig.cameras.front().group = GroupConfig{"stereo", 25};
  collect_fields(to_json(graph_of(rig, gpu_machine(2))), "", fields);
  std::erase_if(fields, [](const std::string& field) { return field.ends_with(".streams"); });  // an empty list
  std::set<std::string> listed;
  const std::string page = text_of_page();
  const std::regex row(R"re(\n\| ([^|]*) \|)re");
  for (std::sregex_iterator match(page.begin(), page.end(), row), end; match != end; ++match) {
    for (const auto& field : all_matches((*match)[1], std::regex(R"re(`(\.[\w.\[\]]+)`)re"))) listed.insert(field);
  }
  EXPECT_EQ(listed, fields);
}

// The first block of a section that begins so.
std::string block_of(const std::string& page, const std::string& section, const std::string& beginning) {
  const auto begin = page.find("```" + beginning, page.find("\n## " + section + "\n"));
  if (begin == std::string::npos) throw std::runtime_error("no block: " + beginning);
  const auto first = page.find('\n', begin) + 1;
  return page.substr(first, page.find("```", first) - first);
}

class PlacementExample : public ConfigTest {};

TEST_F(PlacementExample, IsWhatTheCommandPrints) {
  const std::string page = text_of_page();
  const auto check = [&](const std::string& section, const Machine& machine) {
    const LoadedConfig loaded = load(block_of(page, section, "yaml\n"));
    ASSERT_THAT(loaded.errors, IsEmpty());
    EXPECT_EQ(block_of(page, section, "text\n"), describe(graph_of(loaded.rig, machine)));
  };
  check("Read the plan", cpu_machine({0, 1}));
  check("By stage", gpu_machine(3));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
