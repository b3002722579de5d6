// A mosaic whose cameras run on other nodes of a cluster: whole rigs, with a real etcd and doors by TLS. Frames cross
// between their processes of links.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/ffmpeg.h"
#include "core/rig_token.h"
#include "tests/integration/etcd_members.h"
#include "tests/integration/mosaic_video.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/times_in.h"
#include "tests/unit/http_client.h"
#include "tests/unit/node_authority.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;

const std::vector<FrameRegion> cells{{0, 0, 160, 120}, {160, 0, 160, 120}};
constexpr std::uint64_t in_flight = 2;  // frames that a link lets be under way

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class ClusterLinks : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    etcd_ = std::make_unique<EtcdMembers>(1);
    av_log_set_level(AV_LOG_FATAL);  // files that are read while they begin
  }

  void start(const std::string& node) {
    const ClusterTlsConfig tls = authority_.make(node, "IP:127.0.0.1");
    http_[node] = free_port();
    yaml_ = "http_address: '127.0.0.1:" + std::to_string(http_[node]) +
            "'\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {codec: h264, gop: 5}}\ncameras:\n";
    for (const char* camera : {"dock", "gate"})
      yaml_ += std::string("  ") + camera + ": {source: \"test://pattern?width=320&height=240&rate=10\"}\n";
    yaml_ +=
        "mosaics: {wall: {layout: [[dock, 0, 0, 160, 120], [gate, 160, 0, 160, 120]], "
        "labels: false, width: 320, height: 120, rate: 10, across_nodes: true, record: {path: wall.mp4}}}\n";
    yaml_ += "cluster: {name: hall, etcd: ['" + etcd_->servers().urls[0] + "'], node: " + node +
             ", address: '127.0.0.1:" + std::to_string(free_port()) + "', tls: {ca: " + tls.ca +
             ", certificate: " + tls.certificate + ", key: " + tls.key + "}, links: {" + links_ +
             "ports: " + std::to_string(ports_) + "-" + std::to_string(ports_ + 1) + "}}\n";
    RigOptions options;
    options.report = false;
    nodes_[node] = std::make_unique<RigRun>(yaml_, options);
  }
  void move(const std::string& camera, const std::string& node) const {
    const auto answer = ask({"cluster", "move", camera, node, "--config", "rig.yaml"}, yaml_);
    EXPECT_EQ(answer.status, 0) << answer.errors;
  }
  [[nodiscard]] json cluster(const std::string& node) const {
    const auto port = static_cast<std::uint16_t>(http_.at(node));
    const auto token = read_token(nodes_.at(node)->file("state/token-" + std::to_string(port)));
    if (!token) return json::object();
    try {
      const std::string body = ask(port, "GET /api/v1/cluster", "Authorization: Bearer " + *token + "\r\n").body;
      const json seen = json::parse(body, nullptr, false);
      return seen.is_object() && seen.contains("links") ? seen : json::object();
    } catch (const std::exception&) {
      return json::object();  // it is not there yet
    }
  }
  [[nodiscard]] std::string node_of(const std::string& at, const std::string& camera) const {
    const json seen = cluster(at);
    return seen.empty() ? "" : seen.at("cameras").value(camera, json::object()).value("node", "");
  }
  // The one link of the node; null: it has none, or others.
  [[nodiscard]] json link(const std::string& node) const {
    const json seen = cluster(node);
    return seen.empty() || seen.at("links").size() != 1 ? json() : seen.at("links")[0];
  }
  [[nodiscard]] bool delivers(const std::string& node) const {
    const json before = link(node);
    return before.is_object() && eventually(
                                     [&] {
                                       const json now = link(node);
                                       return now.is_object() && now.at("connected") == true &&
                                              now.at("delivered") > before.at("delivered");
                                     },
                                     3s);
  }
  // What the newest recording of the mosaic on that node shows in its last frames: the numbers of the cameras' frames.
  [[nodiscard]] std::vector<std::optional<std::uint32_t>> newest(const std::string& node) const {
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(nodes_.at(node)->folder())) {
      if (file.path().extension() == ".mp4") files.push_back(file.path());
    }
    std::vector<std::optional<std::uint32_t>> numbers(cells.size());
    if (files.empty()) return numbers;
    try {
      const auto frames = read_mosaic(*std::ranges::max_element(files, {}, mtime), cells);
      for (std::size_t i = 0; i < cells.size() && !frames.empty(); ++i) {
        if (const auto code = frames.back().cells[i].code) numbers[i] = code->number;
      }
    } catch (const std::exception&) {  // it has no frame yet
    }
    return numbers;
  }
  static std::filesystem::file_time_type mtime(const std::filesystem::path& file) {
    return std::filesystem::last_write_time(file);
  }
  // Both cameras are in the picture, and it moves.
  [[nodiscard]] bool shows_both(const std::string& node) const {
    const auto all = [](const auto& numbers) {
      return std::ranges::all_of(numbers, [](auto n) { return n.has_value(); });
    };
    std::vector<std::optional<std::uint32_t>> before;
    if (!eventually([&] { return all(before = newest(node)); })) return false;
    return eventually([&] {
      const auto now = newest(node);
      return all(now) && now[0] != before[0] && now[1] != before[1];
    });
  }
  // The mosaic and one of its cameras are on b, the other camera on a.
  void place_cameras() {
    ASSERT_TRUE(eventually([&] { return !node_of("a", "wall").empty() && cluster("a").at("nodes").size() == 2; }))
        << logs();
    move("dock", "a");
    move("gate", "b");
    move("wall", "b");
    ASSERT_TRUE(eventually([&] {
      return node_of("b", "dock") == "a" && node_of("b", "gate") == "b" && node_of("b", "wall") == "b";
    })) << cluster("b").dump(2);
  }
  void start_two_nodes() {
    start("a");
    start("b");
    ASSERT_NO_FATAL_FAILURE(place_cameras());
    ASSERT_TRUE(eventually([&] { return delivers("a") && delivers("b"); })) << logs();
  }
  // Empty: there is UCX, as the program says.
  static std::string why_no_ucx() {
    const json found = json::parse(ask({"--devices", "--json"}).output).at("links");
    return found.at("ucx") == "" ? found.at("problem_of_ucx") : "";
  }
  [[nodiscard]] std::string logs() const {
    std::string all;
    for (const auto& [name, rig] : nodes_) all += "--- " + name + "\n" + rig->log();
    return all;
  }
  // How often a link of the node has found its peer so far.
  [[nodiscard]] std::size_t connections(const std::string& node) const {
    return times_in(nodes_.at(node)->log(), ": connected");
  }
  // All of these nodes' processes of links at once, and waits for the next ones: until then the counters are those of
  // the old ones.
  void kill_links(const std::vector<std::string>& nodes) {
    std::map<std::string, std::size_t> before;
    for (const std::string& node : nodes) before[node] = connections(node);
    for (const std::string& node : nodes) ASSERT_EQ(::kill(nodes_.at(node)->pid_of("link"), SIGKILL), 0);
    ASSERT_TRUE(eventually([&] {
      return std::ranges::all_of(before, [&](const auto& each) { return connections(each.first) > each.second; });
    })) << logs();
    ASSERT_TRUE(eventually([&] { return delivers("a") && delivers("b"); })) << logs();
  }

  const int ports_ = free_port();  // of links, and the next one
  std::string links_;              // further keys of `links`
  NodeAuthority authority_;
  std::unique_ptr<EtcdMembers> etcd_;
  std::string yaml_;
  std::map<std::string, int> http_;
  std::map<std::string, std::unique_ptr<RigRun>> nodes_;
};

TEST_F(ClusterLinks, AMosaicShowsCamerasOfOtherNodesAndGoesOnWhateverDies) {
  ASSERT_NO_FATAL_FAILURE(start_two_nodes());
  EXPECT_EQ(link("a").at("direction"), "sends");
  EXPECT_EQ(link("a").at("peer"), "b");
  EXPECT_EQ(link("b").at("direction"), "receives");
  EXPECT_EQ(link("b").at("camera"), "dock");
  EXPECT_EQ(link("b").at("encrypted"), true);
  const std::string log = nodes_.at("a")->log();
  EXPECT_TRUE(has(log, "link wall/0/dock: connected to 127.0.0.1:" + std::to_string(ports_) + "\n") ||
              has(log, "link wall/0/dock: connected to 127.0.0.1:" + std::to_string(ports_ + 1) + "\n"))
      << log;

  // The end that receives, and then the one that sends.
  for (const std::string node : {"b", "a"}) ASSERT_NO_FATAL_FAILURE(kill_links({node}));
  const json sent = link("a");
  EXPECT_GE(sent.at("lost"), 1U) << sent;
  EXPECT_LE(sent.at("frames").get<std::uint64_t>(),
            sent.at("delivered").get<std::uint64_t>() + sent.at("lost").get<std::uint64_t>() + in_flight)
      << sent;
  EXPECT_TRUE(eventually([&] {
    const json received = link("b");
    return received.at("frames") == received.at("delivered").get<std::uint64_t>() +
                                        received.at("dropped").get<std::uint64_t>() +
                                        received.at("lost").get<std::uint64_t>() &&
           received.at("lost") == link("a").at("lost");
  })) << link("a")
      << link("b");

  move("gate", "a");
  EXPECT_TRUE(eventually([&] { return node_of("b", "gate") == "a" && cluster("b").at("links").size() == 2; }))
      << logs();
  EXPECT_TRUE(shows_both("b")) << logs();

  for (const pid_t pid : nodes_.at("b")->processes()) ::kill(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return node_of("a", "wall") == "a" && node_of("a", "gate") == "a"; })) << logs();
  EXPECT_TRUE(shows_both("a")) << logs();
  EXPECT_TRUE(eventually([&] { return cluster("a").at("links").empty(); })) << cluster("a");
  nodes_.at("a")->signal(SIGTERM);
  EXPECT_EQ(nodes_.at("a")->wait(), 0) << nodes_.at("a")->log();
}

// Of a process: its threads and descriptors.
std::pair<std::size_t, std::size_t> threads_and_descriptors(pid_t pid) {
  const auto count = [pid](const char* what) {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/" + what);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  };
  return {count("task"), count("fd")};
}

// Signals for which the process has handlers: the lowest bit is that of signal 1.
std::uint64_t caught_signals(pid_t pid) {
  const std::string status = read_text("/proc/" + std::to_string(pid) + "/status");
  return std::stoull(status.substr(status.find("SigCgt:") + 7), nullptr, 16);
}

TEST_F(ClusterLinks, GoByUcxWhereItIsAskedFor) {
  if (const std::string why = why_no_ucx(); !why.empty()) GTEST_SKIP() << why;
  links_ = "encrypt: false, transports: [ucx], ";
  ASSERT_NO_FATAL_FAILURE(start_two_nodes());
  for (const char* node : {"a", "b"}) {
    EXPECT_EQ(link(node).at("transport"), "ucx");
    EXPECT_EQ(link(node).at("encrypted"), false);
  }
  EXPECT_TRUE(has(ask({"cluster", "status", "--links", "--config", "rig.yaml"}, yaml_).output, "\na     b   ucx\n"));
  ASSERT_NO_FATAL_FAILURE(kill_links({"a", "b"}));

  // UCX would install a handler; for faults campipe has its own.
  const pid_t process = nodes_.at("b")->pid_of("link");
  EXPECT_EQ(caught_signals(process) & 1U << (SIGHUP - 1), 0U);

  // A second one in the same processes, which leaves nothing when it ends.
  const auto [threads, descriptors] = threads_and_descriptors(process);
  move("gate", "a");
  EXPECT_TRUE(eventually([&] { return node_of("b", "gate") == "a" && cluster("b").at("links").size() == 2; }))
      << logs();
  EXPECT_TRUE(shows_both("b")) << logs();
  EXPECT_GT(threads_and_descriptors(process).first, threads);
  move("gate", "b");
  EXPECT_TRUE(eventually([&, threads = threads, descriptors = descriptors] {
    const auto now = threads_and_descriptors(process);
    return now.first <= threads && now.second <= descriptors;
  })) << threads_and_descriptors(process).first
      << " threads instead of " << threads << ", " << threads_and_descriptors(process).second
      << " descriptors instead of " << descriptors << logs();
}

TEST_F(ClusterLinks, WithoutATransportInCommonThereAreNone) {
  if (const std::string why = why_no_ucx(); !why.empty()) GTEST_SKIP() << why;
  links_ = "encrypt: false, transports: [zeromq], ";
  start("a");
  links_ = "encrypt: false, transports: [ucx], ";
  start("b");
  ASSERT_NO_FATAL_FAILURE(place_cameras());
  const std::map<std::string, std::string> problems{
      {"a", "no links with node 'b': they could go by ucx there, and by zeromq here; see `cluster.links` of both"},
      {"b", "no links with node 'a': they could go by zeromq there, and by ucx here; see `cluster.links` of both"}};
  const auto log_of = [&](const std::string& node) { return nodes_.at(node)->log(); };
  for (const auto& [node, problem] : problems)
    EXPECT_TRUE(eventually([&, node = node, problem = problem] { return has(log_of(node), problem); })) << log_of(node);
  // It is tried again, and logged once.
  move("gate", "a");
  ASSERT_TRUE(eventually([&] { return node_of("b", "gate") == "a" && node_of("a", "gate") == "a"; }));
  for (const auto& [node, problem] : problems) {
    const std::string log = log_of(node);
    EXPECT_EQ(log.find(problem), log.rfind(problem)) << log;
    EXPECT_TRUE(cluster(node).at("links").empty());
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
