// Two whole rigs as nodes of a cluster, with real etcd, certificates and users: each serves the cameras of both.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <memory>

#include "core/clock.h"
#include "tests/integration/etcd_members.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"
#include "tests/unit/command_output.h"
#include "tests/unit/http_client.h"
#include "tests/unit/node_authority.h"
#include "tests/unit/stop_process.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;

class ClusterWall : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    etcd_ = std::make_unique<EtcdMembers>(1);
  }

  // `may_see`: the cameras that ben may see on this node.
  void start(const std::string& node, const std::string& may_see) {
    const ClusterTlsConfig tls = authority_.make(node, "IP:127.0.0.1");
    http_[node] = free_port();
    rtsp_[node] = free_port();
    std::string yaml = "http_address: '127.0.0.1:" + std::to_string(http_[node]) +
                       "'\nrtsp_address: '127.0.0.1:" + std::to_string(rtsp_[node]) +
                       "'\nworkers: {count: 1}\nusers:\n  ann: {password: '" + hash_ +
                       "', may: administer}\n  ben: {password: '" + hash_ + "', may: view, cameras: [" + may_see +
                       "]}\ndefaults: {encode: {codec: h264, gop: 10}}\ncameras:\n";
    for (const char* camera : {"dock", "gate"}) {
      yaml += std::string("  ") + camera +
              ": {source: \"test://pattern?width=160&height=120&rate=10\", record: {path: '" +
              (shared_.path() / "{camera}_%H-%M-%S.mp4").string() + "'}, snapshot: {path: \"{camera}.jpg\"}}\n";
    }
    yaml += "cluster: {name: hall, etcd: ['" + etcd_->servers().urls[0] + "'], node: " + node +
            ", address: '127.0.0.1:" + std::to_string(free_port()) + "', tls: {ca: " + tls.ca +
            ", certificate: " + tls.certificate + ", key: " + tls.key + "}}\n";
    yaml_ = yaml;
    RigOptions options;
    options.report = false;
    nodes_[node] = std::make_unique<RigRun>(yaml, options);
  }
  void move(const std::string& camera, const std::string& node) const {
    const auto answer = ask({"cluster", "move", camera, node, "--config", "rig.yaml"}, yaml_);
    EXPECT_EQ(answer.status, 0) << answer.errors;
  }
  [[nodiscard]] std::uint16_t port(const std::string& node) const { return static_cast<std::uint16_t>(http_.at(node)); }
  [[nodiscard]] Reply get(const std::string& node, const std::string& path, const std::string& user = "ann") const {
    try {
      return ask(port(node), "GET " + path, login(user));
    } catch (const std::exception&) {
      return {};  // it is not there yet
    }
  }
  static std::string login(const std::string& user) {
    return "Authorization: Basic " + output_of("printf %s '" + user + ":correct horse' | base64 -w0") + "\r\n";
  }
  [[nodiscard]] json camera(const std::string& node, const std::string& name) const {
    const json status = json::parse(get(node, "/api/v1/status").body, nullptr, false);
    if (!status.is_object() || !status.contains("cameras")) return json::object();
    return status["cameras"].value(name, json::object());
  }
  // As `at` shows it.
  [[nodiscard]] bool runs(const std::string& at, const std::string& name, const std::string& on) const {
    return eventually([&] {
      const json found = camera(at, name);
      return found.value("state", "") == "running" && found.value("node", "") == on;
    });
  }
  [[nodiscard]] std::string logs() const {
    std::string all;
    for (const auto& [name, rig] : nodes_) all += "--- " + name + "\n" + rig->log();
    return all;
  }
  // The frames that come within two seconds' worth of video, or why none do.
  static std::string frames(const std::string& options, const std::string& url) {
    return output_of("timeout 30 ffprobe -v error " + options +
                     " -select_streams v -count_frames -read_intervals '%+2' -show_entries stream=nb_read_frames "
                     "-of csv=p=0 '" +
                     url + "' 2>&1");
  }

  // Of "correct horse", with little work.
  const std::string hash_ =
      "$argon2id$v=19$m=8192,t=1,p=1$j5Jqca6CfWjn2YBeUc14IQ$WqqfGov3SJrVn7xzww+8j9iTz0qXyfgVxPehGfpf2kg";
  NodeAuthority authority_;
  TemporaryFolder shared_;
  std::unique_ptr<EtcdMembers> etcd_;
  std::string yaml_;
  std::map<std::string, int> http_;
  std::map<std::string, int> rtsp_;
  std::map<std::string, std::unique_ptr<RigRun>> nodes_;
};

TEST_F(ClusterWall, EachNodeServesTheCamerasOfAllAndGoesOnWhereTheyGo) {
  start("east", "dock, gate");
  start("west", "dock");
  ASSERT_TRUE(eventually([&] { return camera("east", "gate").contains("node"); })) << logs();
  move("dock", "east");
  move("gate", "west");
  ASSERT_TRUE(runs("east", "gate", "west")) << logs();
  ASSERT_TRUE(runs("east", "dock", "east")) << logs();
  ASSERT_TRUE(runs("west", "dock", "east")) << logs();

  // Live, by HTTP and RTSP.
  const std::string url =
      "http://ann:correct%20horse@127.0.0.1:" + std::to_string(http_["east"]) + "/cameras/gate/stream.ts";
  const std::string by_http = frames("-analyzeduration 500000 -probesize 20000", url);
  EXPECT_GE(std::atoi(by_http.c_str()), 10) << by_http;
  const std::string rtsp = "rtsp://ann:correct%20horse@127.0.0.1:" + std::to_string(rtsp_["east"]) + "/gate";
  const std::string by_rtsp = frames("-rtsp_transport tcp -analyzeduration 500000", rtsp);
  EXPECT_GE(std::atoi(by_rtsp.c_str()), 10) << by_rtsp;

  // Files have the node in their names, as its folder may be the others' too.
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(nodes_["west"]->file("gate@west.jpg")); }));
  EXPECT_FALSE(std::filesystem::exists(nodes_["west"]->file("gate.jpg")));

  // Rights, there as well as here.
  EXPECT_EQ(get("east", "/cameras/gate/snapshot.jpg").status, 200);
  EXPECT_EQ(get("east", "/cameras/gate/snapshot.jpg", "ben").status, 404) << "not on west";
  EXPECT_EQ(get("west", "/cameras/dock/snapshot.jpg", "ben").status, 200);

  // What is open goes on when the camera moves.
  WebSocketClient live(port("east"), "/cameras/gate/live", login("ann"));
  EXPECT_EQ(live.head().status, 101);
  EXPECT_EQ(live.next().opcode, 1);
  move("gate", "east");
  while (live.next().opcode != 8) {
  }
  ASSERT_TRUE(runs("west", "gate", "east")) << logs();
  EXPECT_TRUE(eventually([&] {
    try {
      return WebSocketClient(port("west"), "/cameras/gate/live", login("ann")).head().status == 101;
    } catch (const std::exception&) {
      return false;
    }
  }));

  // What both have of it is one list, and can be had at either.
  json recordings;
  EXPECT_TRUE(eventually([&] {
    recordings = json::parse(get("east", "/api/v1/recordings?camera=gate").body, nullptr, false);
    return recordings.is_object() && recordings.contains("recordings") && recordings["recordings"].size() >= 2;
  })) << recordings;
  std::map<std::string, std::string> ids;  // by node
  for (const json& each : recordings.value("recordings", json::array())) ids[each.at("node")] = each.at("id");
  ASSERT_EQ(ids.size(), 2U) << recordings;
  for (const auto& [at, of] : std::map<std::string, std::string>{{"east", "west"}, {"west", "east"}}) {
    // The newest one may have been begun just now.
    EXPECT_TRUE(eventually([&] {
      const Reply file = get(at, "/recordings/files/" + ids[of] + "?node=" + of);
      return file.status == 200 && file.body.find("ftyp") != std::string::npos;
    })) << ids[of];
  }

  // A node that is stopped, and answers nothing, is named.
  move("gate", "west");
  ASSERT_TRUE(runs("east", "gate", "west")) << logs();
  const pid_t publisher = nodes_.at("west")->pid_of("publisher");
  stop_process(publisher);
  RigWaits waits(*nodes_.at("east"));
  const auto since = Clock::now();
  EXPECT_EQ(get("east", "/api/v1/cameras/gate").status, 502);
  EXPECT_LT(Clock::now() - since, 5s + waits.so_far());
  EXPECT_EQ(get("east", "/api/v1/cameras/dock").status, 200);
  EXPECT_TRUE(eventually([&] { return camera("east", "gate").value("state", "") == "unreachable"; }));
  ::kill(publisher, SIGCONT);

  // One that is away, and has no camera any more, is named as long as nobody says that it is gone for good.
  nodes_.at("west")->signal(SIGTERM);
  EXPECT_EQ(nodes_.at("west")->wait(), 0) << nodes_.at("west")->log();
  ASSERT_TRUE(runs("east", "gate", "east")) << logs();
  const auto unreachable = [&] {
    const json answer = json::parse(get("east", "/api/v1/recordings").body, nullptr, false);
    return answer.is_object() ? answer.value("unreachable", json::object()) : json();
  };
  EXPECT_EQ(unreachable(), (json{{"west", "node 'west' is away"}}));
  const Reply listed = get("east", "/api/v1/recordings?camera=gate");
  EXPECT_THAT(listed.body, testing::HasSubstr(ids["west"])) << "in the folder that both have";
  EXPECT_THAT(get("east", "/recordings/files/" + ids["west"] + "?node=west").body, testing::HasSubstr("ftyp"));
  EXPECT_EQ(get("east", "/recordings/files/gate/main/none.mp4?node=west").status, 502);
  const auto forgotten = ask({"cluster", "forget", "west", "--config", "rig.yaml"}, yaml_);
  EXPECT_EQ(forgotten.status, 0) << forgotten.errors;
  EXPECT_TRUE(eventually([&] { return unreachable() == json::object(); })) << unreachable();

  nodes_.at("east")->signal(SIGTERM);
  EXPECT_EQ(nodes_.at("east")->wait(), 0) << nodes_.at("east")->log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
