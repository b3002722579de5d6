// Stages and tiles of a camera on another node of its cluster: whole rigs, with a real etcd. Frames go there over a
// link, and come back over another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <regex>
#include <utility>

#include "core/rig_token.h"
#include "tests/integration/etcd_members.h"
#include "tests/integration/frame_hashes.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;

constexpr auto yard_waits = "waiting: waits for node 'b', where its tile 1 is done";
constexpr auto lane_waits = "waiting: waits for node 'b', where its filter 1 is done";

class ClusterStages : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    etcd_ = std::make_unique<EtcdMembers>(1);
  }

  // `lane` by stage, `yard` by tile; `home` is done here alone.
  void start(const std::string& node) {
    http_[node] = free_port();
    yaml_ = "http_address: '127.0.0.1:" + std::to_string(http_[node]) +
            "'\nrtsp_address: off\nworkers: {count: 1}\nbalance: off\n"
            "defaults:\n  encode: {codec: h264, gop: 5, options: {qp: 0}}\n"
            "  drop_policy: drop\n  filters: [{blur: {sigma: 1}}, {sharpen: {amount: 0.5}}]\n  record: {path: "
            "'{camera}.mp4'}\ncameras:\n";
    const std::string source = "{source: \"test://pattern?width=320&height=240&rate=10\"";
    yaml_ += "  home: " + source + "}\n";
    yaml_ += "  lane: " + source + ", placement: {filter: [cpu, b/cpu]}}\n";
    yaml_ += "  yard: " + source + ", placement: {tiles: [cpu, b/cpu]}}\n";
    yaml_ += "cluster: {name: hall, etcd: ['" + etcd_->servers().urls[0] + "'], node: " + node +
             ", address: '127.0.0.1:" + std::to_string(free_port()) + "'}\n";
    RigOptions options;
    options.report = node == "a";
    nodes_[node] = std::make_unique<RigRun>(yaml_, options);
  }
  [[nodiscard]] json asked(const std::string& node, const std::string& what) const {
    const auto port = static_cast<std::uint16_t>(http_.at(node));
    const auto token = read_token(nodes_.at(node)->file("state/token-" + std::to_string(port)));
    if (!token) return json::object();
    try {
      const json seen = json::parse(ask(port, "GET /api/v1/" + what, "Authorization: Bearer " + *token + "\r\n").body,
                                    nullptr, false);
      return seen.is_object() ? seen : json::object();
    } catch (const std::exception&) {
      return json::object();  // it is not there yet
    }
  }
  [[nodiscard]] std::string node_of(const std::string& camera) const {
    const json seen = asked("a", "cluster");
    return seen.contains("cameras") ? seen.at("cameras").value(camera, json::object()).value("node", "") : "";
  }
  // So many frames of each part have come back to a so far.
  [[nodiscard]] std::map<std::string, std::uint64_t> come_back() const {
    std::map<std::string, std::uint64_t> frames;
    const json seen = asked("a", "cluster");
    if (!seen.contains("links")) return frames;
    for (const json& link : seen.at("links")) {
      if (link.at("direction") == "receives" && link.at("connected") == true)
        frames[link.at("camera").get<std::string>() + ", " + link.at("part").get<std::string>()] = link.at("delivered");
    }
    return frames;
  }
  [[nodiscard]] bool flows() const {
    std::map<std::string, std::uint64_t> before;
    if (!eventually([&] { return (before = come_back()).size() == 2; })) return false;
    return eventually([&] {
      const auto now = come_back();
      return std::ranges::all_of(before, [&](const auto& part) {
        const auto found = now.find(part.first);
        return found != now.end() && found->second > part.second;
      });
    });
  }
  void move(const std::string& camera, const std::string& node) const {
    const auto answer = ask({"cluster", "move", camera, node, "--config", "rig.yaml"}, yaml_);
    ASSERT_EQ(answer.status, 0) << answer.errors;
  }
  // All cameras run on a, and their parts on b work.
  void gather_at_a() {
    ASSERT_TRUE(eventually([&] { return !node_of("yard").empty() && asked("a", "cluster").at("nodes").size() == 2; }))
        << logs();
    for (const char* camera : {"home", "lane", "yard"}) ASSERT_NO_FATAL_FAILURE(move(camera, "a"));
    ASSERT_TRUE(flows()) << logs();
  }
  void kill_process(const std::string& node, const std::string& role) {
    pid_t found = 0;
    for (const pid_t pid : nodes_.at(node)->processes()) {
      if (read_text("/proc/" + std::to_string(pid) + "/cmdline").find(role) != std::string::npos) found = pid;
    }
    ASSERT_NE(found, 0) << nodes_.at(node)->log();
    ASSERT_EQ(::kill(found, SIGKILL), 0);
  }
  // Processes of a's that died.
  [[nodiscard]] std::size_t deaths_at_a() const {
    const std::string log = nodes_.at("a")->log();
    std::size_t deaths = 0;
    for (std::size_t at = log.find(" died ("); at != std::string::npos; at = log.find(" died (", at + 1)) ++deaths;
    return deaths;
  }
  // As a shows it: the state, and why.
  [[nodiscard]] std::string state_of(const std::string& camera) const {
    const json seen = asked("a", "status");
    if (!seen.contains("cameras") || !seen.at("cameras").contains(camera)) return "";
    const json& shown = seen.at("cameras").at(camera);
    return shown.value("state", "") + ": " + shown.value("reason", "");
  }
  // Of its recording, without the time of day in the pattern; with the line at which tiles meet.
  [[nodiscard]] std::vector<std::string> pictures_of(const std::string& camera) const {
    std::filesystem::path newest;
    for (const auto& entry : std::filesystem::directory_iterator(nodes_.at("a")->folder())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(camera + "@a@") && name.ends_with(".mp4")) newest = std::max(newest, entry.path());
    }
    return video_hashes(newest, "-vf crop=320:140:0:100");
  }
  [[nodiscard]] std::string logs() const {
    std::string all;
    for (const auto& [name, rig] : nodes_) all += "--- " + name + "\n" + rig->log();
    return all;
  }

  // As `home` has them, which lost none: to the bit, and in the same order. It may have ended a little earlier.
  void expect_same_pictures(const std::string& camera) {
    const auto all = pictures_of("home");
    auto from = all.begin();
    std::size_t same = 0;
    std::size_t others = 0;
    for (const std::string& picture : pictures_of(camera)) {
      const auto found = std::find(from, all.end(), picture);
      if (found == all.end()) {
        ++others;
        continue;
      }
      EXPECT_EQ(std::exchange(others, 0), 0U) << camera << ", frame " << same;
      from = std::next(found);
      ++same;
    }
    EXPECT_GT(same, 20U) << camera;
    EXPECT_LT(others, 20U) << camera;
  }

  std::unique_ptr<EtcdMembers> etcd_;
  std::string yaml_;
  std::map<std::string, int> http_;
  std::map<std::string, std::unique_ptr<RigRun>> nodes_;
};

TEST_F(ClusterStages, AreDoneThereAndGoOnWhateverDies) {
  start("a");
  EXPECT_TRUE(eventually([&] { return state_of("yard") == yard_waits && state_of("lane") == lane_waits; }))
      << state_of("yard") << '\n'
      << logs();
  start("b");
  ASSERT_NO_FATAL_FAILURE(gather_at_a());
  EXPECT_THAT(come_back(), testing::UnorderedElementsAre(testing::Key("lane, filter 1"), testing::Key("yard, tile 1")));

  kill_process("b", "worker");
  ASSERT_TRUE(flows()) << logs();
  kill_process("b", "link");
  ASSERT_TRUE(flows()) << logs();
  kill_process("a", "link");
  ASSERT_TRUE(flows()) << logs();
  for (const pid_t pid : nodes_.at("b")->processes()) ::kill(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return state_of("yard") == yard_waits && state_of("lane") == lane_waits; }))
      << state_of("yard");
  EXPECT_EQ(state_of("home"), "running: ");
  ASSERT_TRUE(eventually([&] { return come_back().empty(); })) << logs();
  nodes_.erase("b");
  start("b");
  ASSERT_TRUE(flows()) << logs();
  EXPECT_EQ(deaths_at_a(), 1U) << "but for the one that was killed, a node that comes again ends no process";

  nodes_.at("a")->signal(SIGTERM);
  ASSERT_EQ(nodes_.at("a")->wait(), 0) << nodes_.at("a")->log();
  const json cameras = nodes_.at("a")->report().at("cameras");
  for (const char* name : {"home", "lane", "yard"}) {
    const json frames = cameras.at(name).at("frames");
    std::uint64_t dropped = 0;
    for (const auto& [cause, number] : frames.at("dropped").items()) dropped += number.get<std::uint64_t>();
    EXPECT_EQ(frames.at("decoded").get<std::uint64_t>(), frames.at("encoded").get<std::uint64_t>() + dropped) << frames;
    EXPECT_EQ(dropped > 0, std::string(name) != "home") << name << frames;
  }
  expect_same_pictures("lane");
  expect_same_pictures("yard");
}

// Why frames are lost on their way, and not in a queue that is full.
constexpr std::array lost_causes{"link_lost", "worker_lost", "part_missing"};

// As a line of the log says.
std::uint64_t lost_in(const std::string& line) {
  std::uint64_t all = 0;
  for (const char* cause : lost_causes) {
    std::smatch found;
    if (std::regex_search(line, found, std::regex(std::string(R"((\d+) dropped \()") + cause + R"(\))")))
      all += std::stoull(found[1]);
  }
  return all;
}

TEST_F(ClusterStages, AMoveToTheNodeOfThePartLosesNoFrame) {
  start("a");
  start("b");
  ASSERT_NO_FATAL_FAILURE(gather_at_a());
  const json before = asked("a", "status").at("cameras").at("lane").at("frames").at("dropped");
  std::uint64_t lost = 0;
  for (const char* cause : lost_causes) lost += before.value(cause, 0U);

  ASSERT_NO_FATAL_FAILURE(move("lane", "b"));
  const std::string removed = " lane: removed; ";
  ASSERT_TRUE(eventually([&] { return nodes_.at("a")->log().find(removed) != std::string::npos; })) << logs();
  const std::string log = nodes_.at("a")->log();
  const std::string line = log.substr(log.find(removed), log.find('\n', log.find(removed)) - log.find(removed));
  EXPECT_EQ(lost_in(line), lost) << logs();
  // There it is whole, and a's other part on b goes on.
  EXPECT_TRUE(eventually([&] { return asked("b", "status").at("cameras").contains("lane"); })) << logs();
  EXPECT_TRUE(eventually([&] { return come_back().size() == 1 && come_back().contains("yard, tile 1"); })) << logs();

  // And back.
  ASSERT_NO_FATAL_FAILURE(move("lane", "a"));
  ASSERT_TRUE(eventually([&] { return nodes_.at("b")->log().find(removed) != std::string::npos; })) << logs();
  ASSERT_TRUE(flows()) << logs();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
