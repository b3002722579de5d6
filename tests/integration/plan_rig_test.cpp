// What `campipe --plan` shows is what runs: processes, the rings that they share, encoders, memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "core/error.h"
#include "tests/integration/clips.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// A camera that is copied, with one output that is encoded and one that is copied; one that is encoded, and once more
// on demand, since browsers do not play its codec; one whose stages are in two workers; and one that does not run.
std::string rig_with(const std::string& clip) {
  return "http_address: \"127.0.0.1:0\"\nrtsp_address: off\nworkers: {count: 3}\ncameras:\n"
         "  dock:\n    source: \"" +
         clip +
         "\"\n    loop: true\n    encode: {codec: copy}\n    outputs:\n"
         "      small: {filters: [{resize: {width: 160, height: 120}}, sharpen], encode: {codec: h264}}\n"
         "      raw: {filters: [motion], encode: {codec: copy}}\n"
         "  belt: {source: \"test://pattern?width=320&height=240\", encode: {codec: mjpeg}}\n"
         "  stage: {source: \"test://pattern?width=320&height=240\", filters: [sharpen, motion], encode: {codec: "
         "h264},\n"
         "          placement: {filter: [cpu:1], encode: cpu:2}}\n"
         "  off: {source: \"test://pattern\", enabled: false}\n";
}

json planned(const std::string& yaml) {
  const Answer answer = ask({"--config", "rig.yaml", "--plan=json"}, yaml);
  EXPECT_EQ(answer.status, 0) << answer.errors;
  return json::parse(answer.output);
}

const json& node_of(const json& plan, const std::string& id) {
  const auto& nodes = plan.at("nodes");
  const auto found = std::ranges::find_if(nodes, [&](const json& node) { return node.at("id") == id; });
  if (found == nodes.end()) throw std::runtime_error("no node: " + id);
  return *found;
}

// Kind of ring, who writes it, who reads it → how many.
using Rings = std::map<std::tuple<std::string, std::string, std::string>, int>;

// Those that are there without a viewer.
Rings planned_rings(const json& plan) {
  Rings rings;
  for (const json& edge : plan.at("edges")) {
    if (edge.at("on_demand")) continue;
    const json& from = node_of(plan, edge.at("from"));
    const std::string decoder = edge.at("kind") == "frame ring" ? from.value("decoded_in", "") : "";
    ++rings[{edge.at("kind"), decoder.empty() ? from.at("process").get<std::string>() : decoder,
             node_of(plan, edge.at("to")).at("process")}];
  }
  return rings;
}

// By the names that they were made with, in what a process has mapped: "7f… rw-s 00000000 00:01 77 /memfd:campipe …".
std::set<std::string> mapped_rings(pid_t process, const std::string& kind, const std::string& wanted_access) {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:campipe " + kind + " (deleted)") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string range;
    std::string access;
    std::string offset;
    std::string device;
    std::string inode;
    fields >> range >> access >> offset >> device >> inode;
    if (access == wanted_access) inodes.insert(inode);
  }
  return inodes;
}

Rings shared_rings(const RigRun& rig) {
  const std::vector<std::string> writers{"source", "master", "worker 0", "worker 1", "worker 2"};
  const std::vector<std::string> readers{"worker 0", "worker 1", "worker 2", "publisher"};
  Rings rings;
  for (const std::string kind : {"frame ring", "packet ring"}) {
    for (const std::string& writer : writers) {
      for (const std::string& reader : readers) {
        const auto from = rig.find(writer);
        const auto to = rig.find(reader);
        if (!from || !to || writer == reader) continue;
        // Of frame rings, only writers may write the pixels.
        const bool frames = kind == "frame ring";
        const auto written = mapped_rings(*from, kind + (frames ? " pixels" : ""), "rw-s");
        const auto read = mapped_rings(*to, kind + (frames ? " pixels" : ""), frames ? "r--s" : "rw-s");
        std::vector<std::string> both;
        std::ranges::set_intersection(written, read, std::back_inserter(both));
        if (!both.empty()) rings[{kind, writer, reader}] = static_cast<int>(both.size());
      }
    }
  }
  return rings;
}

class PlannedRig : public testing::Test {
 protected:
  PlannedRig() { make_clip(clips_.path(), {.name = "clip.mp4"}); }
  [[nodiscard]] std::string yaml() const { return rig_with((clips_.path() / "clip.mp4").string()); }

 private:
  TemporaryFolder clips_;
};

TEST_F(PlannedRig, SharesTheRingsOfThePlanAndNoOthers) {
  const json plan = planned(yaml());
  const Rings rings = planned_rings(plan);
  // Three cameras are decoded in the master; five outputs are made in the source and in three workers, one of them from
  // frames of another worker.
  ASSERT_EQ(rings.size(), 7U);
  ASSERT_EQ(rings.count({"frame ring", "worker 1", "worker 2"}), 1U);
  RigRun rig(yaml());
  eventually([&] { return shared_rings(rig) == rings; });
  EXPECT_EQ(shared_rings(rig), rings) << rig.log();
  std::set<std::string> processes;
  for (const json& process : plan.at("processes")) processes.insert(process.at("name"));
  for (const std::string name : {"source", "master", "publisher", "worker 0", "worker 1", "worker 2"})
    EXPECT_EQ(rig.find(name).has_value(), processes.contains(name)) << name;
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
}

// Of the report's part of an output.
void expect_stream(const json& stream, const json& report) {
  if (stream.at("on_demand") || stream.at("codec") == "frames") return;
  const std::string encoder = stream.at("codec") == "copy" ? "copy" : stream.at("encoder");
  EXPECT_EQ(report.at("encoder"), encoder) << stream;
}

TEST_F(PlannedRig, RunsWhereAndWithWhatThePlanSays) {
  const json plan = planned(yaml());
  RigRun rig(yaml());
  ASSERT_TRUE(eventually([&] { return shared_rings(rig) == planned_rings(plan); })) << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const json cameras = rig.report().at("cameras");
  int compared = 0;
  for (const json& edge : plan.at("edges")) {
    if (edge.at("kind") != "frame ring") continue;
    const json& source = node_of(plan, edge.at("from"));
    const json& node = node_of(plan, edge.at("to"));
    const std::string camera = node.at("name");
    const json& report = cameras.at(camera);
    const bool passes_on =
        std::ranges::any_of(node.at("streams"), [](const json& stream) { return stream.at("codec") == "frames"; });
    if (!passes_on) {  // it encodes the camera's own stream
      EXPECT_EQ("worker " + report.at("worker").dump(), node.at("process"));
      EXPECT_EQ(report.at("gpu"), node.at("gpu"));
    }
    ++compared;
    if (source.at("kind") != "source") continue;
    EXPECT_EQ(report.at("ipc_memory"), edge.at("memory"));
    const std::string decoder = report.at("decoder");
    EXPECT_EQ(decoder.find("nvdec") != std::string::npos, source.at("decoder") == "nvdec") << decoder;
    EXPECT_EQ(decoder == "pattern", source.at("decoder") == "pattern") << decoder;
  }
  EXPECT_EQ(compared, 4);
  for (const json& maker : plan.at("nodes")) {
    if (maker.at("kind") == "output") continue;
    const std::string camera = maker.at("name");
    for (const json& stream : maker.at("streams")) {
      const std::string output = stream.at("output");
      const bool is_own = output == camera;
      const json& report = cameras.at(camera);
      expect_stream(stream, is_own ? report : report.at("outputs").at(output.substr(camera.size() + 1)));
    }
  }
}

// Of the plan: one camera's source, nodes and frame rings, with the fields that the status has, too.
json planned_graph(const json& plan, const std::string& camera) {
  json graph{{"nodes", json::array()}, {"edges", json::array()}};
  for (const json& node : plan.at("nodes")) {
    if (node.at("kind") == "output" || node.at("name") != camera) continue;
    json& shown = graph["nodes"].emplace_back();
    for (const char* key : {"id", "process", "gpu", "decoder", "decoded_in", "streams"}) {
      if (node.contains(key)) shown[key] = node.at(key);
    }
  }
  for (const json& edge : plan.at("edges")) {
    if (edge.at("kind") != "frame ring" || node_of(plan, edge.at("to")).at("name") != camera) continue;
    json& shown = graph["edges"].emplace_back();
    for (const char* key : {"from", "to", "memory", "ready_signal"}) shown[key] = edge.at(key);
  }
  return graph;
}

// Without what only a running rig has, and what it has only while somebody watches.
json without_numbers(json graph) {
  for (json& node : graph.at("nodes")) {
    for (json& stream : node.at("streams")) {
      if (stream.at("on_demand")) stream.erase("encoder");
    }
  }
  for (json& edge : graph.at("edges")) {
    for (const char* key : {"ring_slots", "queue_size", "waiting", "published", "fps", "recalled", "missed"})
      edge.erase(key);
  }
  return graph;
}

class LiveGraph : public PlannedRig {
 protected:
  static void expect_numbers(const json& edge) {
    EXPECT_GT(edge.at("published"), 0) << edge;
    EXPECT_GT(edge.at("queue_size"), 0) << edge;
    EXPECT_GE(edge.at("ring_slots"), edge.at("queue_size")) << edge;
    EXPECT_LE(edge.at("waiting"), edge.at("queue_size")) << edge;
  }

  // Null until the rig answers. `token`: empty: as nobody in particular.
  [[nodiscard]] json status(const std::string& token = "") const {
    try {
      const std::string header = token.empty() ? "" : "Authorization: Bearer " + token + "\r\n";
      const Reply reply = ask(static_cast<std::uint16_t>(port_), "GET /api/v1/status", header);
      return reply.status == 200 ? json::parse(reply.body) : json();
    } catch (const Error&) {
      return {};
    }
  }

  [[nodiscard]] std::string served(std::string rig) const {
    const std::string any = "127.0.0.1:0";
    return rig.replace(rig.find(any), any.size(), "127.0.0.1:" + std::to_string(port_));
  }

  const int port_ = free_port();
};

TEST_F(LiveGraph, IsThatOfThePlan) {
  const json plan = planned(yaml());
  RigRun rig(served(yaml()));
  const std::vector<std::string> cameras{"dock", "belt", "stage"};
  const auto equal = [&] {
    const json now = status();
    return now.is_object() && std::ranges::all_of(cameras, [&](const std::string& name) {
             const json& camera = now.at("cameras").at(name);
             return camera.contains("graph") &&
                    without_numbers(camera.at("graph")) == without_numbers(planned_graph(plan, name));
           });
  };
  // What is open is known only once it is: decoders, rings, encoders.
  EXPECT_TRUE(eventually(equal)) << rig.log();
  const json now = status();
  ASSERT_TRUE(now.is_object()) << rig.log();
  std::size_t edges = 0;
  for (const std::string& name : cameras) {
    const json& graph = now.at("cameras").at(name).at("graph");
    EXPECT_EQ(without_numbers(graph), without_numbers(planned_graph(plan, name)));
    for (const json& edge : graph.at("edges")) expect_numbers(edge);
    edges += graph.at("edges").size();
  }
  EXPECT_EQ(edges, 4U) << "one of each camera, and one between the two stages";
  EXPECT_FALSE(now.at("cameras").at("off").contains("graph")) << "it is not in the plan either";
}

// The names of outputs look like files in the folder of the recordings, which those who may only look are not shown.
TEST_F(LiveGraph, IsTheSameForWhoDoesNotAdminister) {
  RigRun rig(
      served("http_address: \"127.0.0.1:0\"\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n"
             "  dock: {source: \"test://pattern?width=160&height=120\", record: {path: \"dock/%H%M%S.mp4\"},\n"
             "         outputs: {small: {}}}\n"));
  json seen;
  const auto knows_recording = [&] {
    seen = status();
    return seen.is_object() && seen.at("cameras").at("dock").contains("recording");
  };
  ASSERT_TRUE(eventually(knows_recording)) << rig.log();
  const json all = status(read_text(rig.file("state/token-" + std::to_string(port_))));
  ASSERT_TRUE(all.is_object() && all.at("processes").at(0).contains("pid"));
  const json& graph = seen.at("cameras").at("dock").at("graph");
  EXPECT_EQ(without_numbers(graph).at("edges"), without_numbers(all.at("cameras").at("dock").at("graph")).at("edges"));
  EXPECT_EQ(graph.at("nodes").at(1).at("streams").at(1).at("output"), "dock/small") << graph;
}

// The second stage takes longer than its frames take to come: its queue fills, then that of the first, which waits for
// it; and frames are dropped there, before anything was done to them.
TEST_F(LiveGraph, ShowsWhereFramesWaitAndAreDropped) {
  RigRun rig(
      served("http_address: \"127.0.0.1:0\"\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n"
             "  dock: {source: \"test://pattern?width=640&height=480&rate=50\", drop_policy: drop,\n"
             "         filters: [sharpen, {denoise: {window: 15, patch: 7}}],\n"
             "         placement: {filter: [cpu:0, cpu:1]}, encode: {codec: h264}}\n"));
  json edges;
  const auto is_full = [](const json& edge) { return edge.at("waiting") == edge.at("queue_size"); };
  EXPECT_TRUE(eventually([&] {
    const json now = status();
    edges = now.is_object() ? now.at("cameras").at("dock").at("graph").at("edges") : json::array();
    return edges.size() == 2 && is_full(edges[1]) && edges[0].at("recalled") > 0;
  })) << edges
      << rig.log();
  EXPECT_GT(edges[0].at("waiting"), 0) << edges;
  EXPECT_LT(edges[1].at("recalled"), edges[0].at("recalled")) << edges;
}

TEST_F(PlannedRig, IsShownInThreeForms) {
  const auto ask_for = [&](const std::vector<std::string>& words) { return ask(words, yaml()); };
  const Answer text = ask_for({"--plan", "--config", "rig.yaml"});
  EXPECT_EQ(text.status, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("\n  dock: "));
  EXPECT_THAT(text.output, Not(HasSubstr("off")));
  EXPECT_EQ(ask_for({"--config", "rig.yaml", "--plan"}).output, text.output);
  EXPECT_EQ(ask_for({"--config", "rig.yaml", "--plan=text"}).output, text.output);
  EXPECT_EQ(ask_for({"--config", "rig.yaml", "--check", "--plan"}).output, text.output);
  EXPECT_THAT(ask_for({"--config", "rig.yaml", "--plan=dot"}).output, testing::StartsWith("digraph campipe {\n"));
  const Answer wrong = ask_for({"--config", "rig.yaml", "--plan=pdf"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.errors,
              testing::MatchesRegex("--plan: pdf not in \\{.*\\}\nRun with --help for more information.\n"));
  EXPECT_EQ(wrong.output, "");
}

// Of a machine with eight GPUs, on one that need not have any.
TEST(Plan, IsMadeForAnotherMachine) {
  TemporaryFolder folder;
  const auto file = folder.path() / "machine.json";
  json machine = json::parse(ask({"--devices", "--json"}).output);
  machine["cpu"]["cpus"] = json::array();
  for (int cpu = 0; cpu < 64; ++cpu) machine["cpu"]["cpus"].push_back(cpu);
  machine["gpus"] = json::array();
  machine["pairs"] = json::array();
  for (int i = 0; i < 8; ++i) {
    machine["gpus"].push_back({{"index", i},
                               {"uuid", "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(i + 1)},
                               {"name", "NVIDIA H200"},
                               {"memory_mib", 143'771},
                               {"decoders", {{{"codec", "h264"}, {"works", true}}}}});
  }
  std::ofstream(file) << machine;
  std::string yaml = "http_address: off\nrtsp_address: off\ncameras:\n";
  for (int c = 0; c < 16; ++c)
    yaml += "  cam" + std::to_string(c) + ": {source: \"rtsp://127.0.0.1/s\", encode: {codec: h264}}\n";
  yaml +=
      "  last: {gpu: 7, source: \"rtsp://127.0.0.1/s\", encode: {codec: h264}}\n"
      "  beyond: {gpu: 8, source: \"rtsp://127.0.0.1/s\", encode: {codec: h264}}\n";
  const Answer answer = ask({"--config", "rig.yaml", "--plan=json", "--machine", file.string()}, yaml);
  ASSERT_EQ(answer.status, 0) << answer.errors;
  std::map<std::string, int> workers;  // by their GPUs
  const json plan = json::parse(answer.output);
  for (const json& process : plan.at("processes")) {
    if (process.at("name").get<std::string>().starts_with("worker")) ++workers[process.value("gpu", "")];
  }
  for (int i = 0; i < 7; ++i) EXPECT_EQ(workers[std::to_string(i)], 1) << i;
  EXPECT_THAT(answer.errors, HasSubstr("not now: rig.yaml:21:17: cameras.beyond.gpu: this machine's GPUs are 0 ("));

  machine["gpus"][3]["uuid"] = "GPU 3";
  std::ofstream(file) << machine;
  const Answer wrong = ask({"--config", "rig.yaml", "--plan", "--machine", file.string()}, yaml);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.output, "");
  EXPECT_THAT(wrong.errors, HasSubstr("machine.json: gpus[3].uuid: expected the UUID of a GPU"));
  const Answer alone = ask({"--config", "rig.yaml", "--check", "--machine", file.string()}, yaml);
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.errors, HasSubstr("--machine goes with --plan"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
