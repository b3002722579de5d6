// A cluster as it is seen and changed through one of its nodes: API, metrics and commands, of real rigs with a real
// etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "app/control/child.h"
#include "app/control/json_fields.h"
#include "app/control/messages/cluster.h"
#include "core/rig_token.h"
#include "ipc/channel.h"
#include "tests/integration/described_api.h"
#include "tests/integration/documented.h"
#include "tests/integration/etcd_members.h"
#include "tests/integration/machine_clock.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

class ClusterSeen : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    etcd_ = std::make_unique<EtcdMembers>(1);
    east_ = start("east", "127.0.0.1:" + std::to_string(http_));
    std::optional<MachineClock> clock;
    if (!is_sanitized) clock.emplace();  // else the sanitizer's library has to be loaded first
    west_ = start("west", "127.0.0.1:" + std::to_string(west_http_));
    if (clock) MachineClock::set_off(*west_, 3s);
    headers_ = headers_of(*east_, http_);
    api_ = std::make_unique<DescribedApi>(port(), *read_token(token_file(*east_, http_)));
    ASSERT_TRUE(eventually([&] {
      const json cluster = get();
      return cluster.is_object() && cluster["nodes"].size() == 2 && cluster["cameras"].size() == 3;
    })) << east_->log();
  }

  std::string yaml(const std::string& node, const std::string& http) const {
    return "http_address: \"" + http +
           "\"\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n"
           "  dock: {source: \"test://pattern?width=160&height=120&rate=5\"}\n"
           "  gate: {source: \"test://pattern?width=160&height=120&rate=5\"}\n"
           "mosaics: {wall: {cameras: [dock, gate], width: 160, height: 120, rate: 5, across_nodes: true}}\n"
           "cluster: {name: hall, etcd: ['" +
           etcd_->servers().urls[0] + "'], node: " + node +
           ", address: '127.0.0.1:" + std::to_string(node == "east" ? doors_.first : doors_.second) +
           "', labels: {hall: 2}, links: {encrypt: false}}\n";
  }
  std::unique_ptr<RigRun> start(const std::string& node, const std::string& http) const {
    RigOptions options;
    options.report = false;
    return std::make_unique<RigRun>(yaml(node, http), options);
  }
  static std::filesystem::path token_file(const RigRun& rig, int http) {
    return rig.file("state/token-" + std::to_string(http));
  }
  // Of the owner's requests, once the rig answers.
  static std::string headers_of(const RigRun& rig, int http) {
    EXPECT_TRUE(eventually([&] { return read_token(token_file(rig, http)).has_value(); })) << rig.log();
    return "Authorization: Bearer " + read_token(token_file(rig, http)).value_or("") + "\r\n";
  }
  [[nodiscard]] std::uint16_t port() const { return static_cast<std::uint16_t>(http_); }
  [[nodiscard]] json get() const {
    return json::parse(ask(port(), "GET /api/v1/cluster", headers_).body, nullptr, false);
  }
  [[nodiscard]] json get_status() const {
    return json::parse(ask(port(), "GET /api/v1/status", headers_).body, nullptr, false);
  }
  [[nodiscard]] std::string node_of(const std::string& camera) const { return get()["cameras"][camera]["node"]; }
  [[nodiscard]] std::string metrics() const { return ask(port(), "GET /metrics").body; }
  void expect_west_is_ahead();
  void expect_a_link(Metrics& seen);
  [[nodiscard]] std::string rig_status() const {
    const std::string url = "http://127.0.0.1:" + std::to_string(http_);
    return ask({"status", "--url", url, "--token-file", token_file(*east_, http_).string()}).output;
  }
  Answer command(std::vector<std::string> words) const {
    words.insert(words.begin(), "cluster");
    words.insert(words.end(), {"--config", "rig.yaml"});
    return ask(words, yaml("east", "off"));
  }

  const int http_ = free_port();
  const int west_http_ = free_port();
  const std::pair<int, int> doors_{free_port(), free_port()};  // east's and west's
  std::unique_ptr<EtcdMembers> etcd_;
  std::unique_ptr<RigRun> east_, west_;
  std::unique_ptr<DescribedApi> api_;
  std::string headers_;
};

// As large as a cluster is meant to become, through the process's own channel.
void show_a_large_cluster(pid_t process_of_cluster) {
  messages::ClusterSeen seen;
  seen.state.etcd.up = true;
  for (int i = 0; i < 1000; ++i) {
    const std::string node = "node-" + std::to_string(i % 50);
    seen.state.cameras["camera-" + std::to_string(i)] = {
        node, "", "no node has room for it where it is at home: too little cores, too little memory", node};
    seen.state.nodes[node] = {true, 20, false, true, "10.0.0.1:8443", "0.1.0", {{"hall", "2"}}, {{"cores", 64}}};
  }
  const nlohmann::json body = write_json(seen);
  ASSERT_GT(body.dump().size(), Channel::max_inline_body);
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, process_of_cluster, 0)));
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), child_channel_fd, 0)));
  ASSERT_TRUE(fd);
  ASSERT_TRUE(Channel(std::move(fd)).send(std::string(messages::ClusterSeen::type), body));
}

void ClusterSeen::expect_west_is_ahead() {
  json clock;
  ASSERT_TRUE(eventually([&] { return (clock = get()["nodes"]["west"]["clock"]).is_object(); })) << east_->log();
  EXPECT_NEAR(clock.at("offset_s").get<double>(), is_sanitized ? 0 : 3, clock.at("bound_s").get<double>() + 0.05);
  EXPECT_THAT(metrics(), HasSubstr("campipe_cluster_clock_offset_seconds{node=\"east\",peer=\"west\"} "));
  EXPECT_EQ(api_->call("GET", "/cluster").at("clock_tolerance_s"), 1);
  if (is_sanitized) return;
  const std::string problem = clock.value("problem", "");
  EXPECT_THAT(problem, HasSubstr("the clock of node 'west' is "));
  EXPECT_THAT(problem, HasSubstr(" s ahead of that of node 'east', and 1 s are allowed: see that NTP runs on both"));
  EXPECT_THAT(east_->log(), HasSubstr("the clock of node 'west' is "));
  EXPECT_THAT(rig_status(), HasSubstr("; the clock of node 'west' is "));
}

// Of the mosaic's cameras, one is not where it is.
void ClusterSeen::expect_a_link(Metrics& seen) {
  json links;
  ASSERT_TRUE(eventually([&] {
    links = api_->call("GET", "/cluster").at("links");
    return links.size() == 1 && links[0].at("delivered") > 0;
  })) << links
      << east_->log() << west_->log();
  EXPECT_EQ(links[0].at("peer"), "west");
  EXPECT_EQ(links[0].at("encrypted"), false);
  const std::string text = metrics();
  EXPECT_THAT(text, HasSubstr("campipe_cluster_link_frames_total{"));
  see_metrics(text, seen);
}

// All in one run of rigs, which takes seconds to come up.
TEST_F(ClusterSeen, AndChangedThroughOneOfItsNodes) {
  api_->call("POST", "/cluster/move", "", R"({"camera": "dock", "node": "west"})");
  api_->call("POST", "/cluster/move", "", R"({"camera": "gate", "node": "east"})");
  EXPECT_TRUE(eventually([&] { return node_of("dock") == "west" && get()["cameras"]["dock"]["wanted"] == "west"; }));
  Metrics seen;
  expect_a_link(seen);
  EXPECT_EQ(api_->call("POST", "/cluster/move", "", R"({"camera": "dock"})").at("node"), nullptr);
  EXPECT_TRUE(eventually([&] { return get()["cameras"]["dock"]["wanted"] == ""; }));
  EXPECT_EQ(api_->call("POST", "/cluster/drain", "", R"({"node": "west"})").at("draining"), true);
  EXPECT_TRUE(eventually([&] { return node_of("dock") == "east" && node_of("wall") == "east"; }));

  // The same as the command, of the same keys.
  EXPECT_TRUE(eventually([&] {
    json command_says = json::parse(command({"status", "--json"}).output, nullptr, false);
    json api_says = api_->call("GET", "/cluster");
    if (!command_says.is_object()) return false;
    command_says["etcd"].erase("full");  // which a node does not ask all the time
    EXPECT_EQ(api_says["etcd"].at("full"), nullptr);
    api_says["etcd"].erase("full");
    api_says.erase("links");
    api_says.erase("clock_tolerance_s");  // and what etcd does not know
    for (json& node : api_says["nodes"]) node.erase("clock");
    return command_says == api_says;
  })) << get()
      << command({"status", "--json"}).output;
  expect_west_is_ahead();
  EXPECT_TRUE(eventually([&] { return api_->call("GET", "/status").at("cluster") == get(); }));
  const auto is_refused_as = [&](const std::string& path, const std::string& body, int status,
                                 const std::vector<std::string>& words) {
    EXPECT_EQ(api_->call("POST", path, "", body, status).at("error").get<std::string>() + "\n", command(words).errors);
  };
  is_refused_as("/cluster/drain", R"({"node": "north"})", 404, {"drain", "north"});
  is_refused_as("/cluster/move", R"({"camera": "yard", "node": "west"})", 404, {"move", "yard", "west"});
  is_refused_as("/cluster/move", R"({"camera": "dock", "node": "north"})", 409, {"move", "dock", "north"});
  EXPECT_THAT(rig_status(), HasSubstr("node east of cluster hall: 2 of 2 nodes here, 3 cameras, "));

  const std::string text = metrics();
  see_metrics(text, seen);
  EXPECT_THAT(text, HasSubstr("campipe_cluster_cameras{node=\"east\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("campipe_cluster_nodes{node=\"east\",state=\"draining\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("campipe_cluster_etcd_up{node=\"east\"} 1\n"));
  for (const auto& [name, metric] : seen) EXPECT_TRUE(metric.labels.contains("node")) << name;
  const Metrics documented = documented_metrics();
  Names lacking = without(parts_of(documented, documented), parts_of(seen, documented));
  lacking.merge(without(api_->promised(), api_->seen()));
  std::erase_if(lacking, [](const std::string& part) { return !is_of_a_cluster(part); });
  lacking.erase("Cluster.links.transport=ucx");  // cluster_links_test
  if (is_sanitized) lacking.erase("Cluster.nodes.clock.problem");

  show_a_large_cluster(east_->pid_of("cluster"));
  EXPECT_TRUE(eventually([&] {
    const json cluster = api_->call("GET", "/cluster");  // until the process itself says the next thing
    return cluster.at("cameras").size() == 1000 && cluster.at("nodes").size() == 50;
  })) << east_->log();

  etcd_->kill(0);
  EXPECT_THAT(api_->call("POST", "/cluster/drain", "", R"({"node": "west", "end": true})", 503).at("error"),
              HasSubstr("cannot change the cluster: "));
  EXPECT_TRUE(
      eventually([&] { return metrics().find("campipe_cluster_etcd_up{node=\"east\"} 0\n") != std::string::npos; }));
  const json away = api_->call("GET", "/cluster").at("etcd");
  EXPECT_EQ(away.at("up"), false);
  EXPECT_TRUE(away.at("problem").is_string()) << away;
  EXPECT_THAT(lacking, IsEmpty()) << "documented, and never made";
  EXPECT_THAT(api_->mistakes(), IsEmpty());
  for (RigRun* rig : {east_.get(), west_.get()}) {
    rig->signal(SIGTERM);
    EXPECT_EQ(rig->wait(), 0) << rig->log();
  }
}

// What is put at one node is in etcd, and so at the other one.
TEST_F(ClusterSeen, ItsRigIsChangedThroughOneOfItsNodes) {
  const auto in_etcd = [&] { return json::parse(command({"status", "--json"}).output, nullptr, false)["cameras"]; };
  const std::string yard = R"({"config": {"source": "test://pattern?width=160&height=120&rate=5"}})";
  api_->call("PUT", "/cameras/{name}", "yard", yard, 201);
  EXPECT_TRUE(eventually([&] { return get()["cameras"].contains("yard") && in_etcd().contains("yard"); }))
      << east_->log();
  api_->call("PUT", "/cameras/{name}", "yard", yard, 200);
  EXPECT_THAT(api_->call("PUT", "/cameras/{name}", "yard", R"({"config": {"sauce": "x"}})", 400).at("errors").at(0),
              HasSubstr("did you mean 'source'?"));
  EXPECT_THAT(
      api_->call("PUT", "/cameras/{name}", "yard", R"({"config": {"source": "rtsp://viewer:secret@10.0.0.3/1"}})", 400)
          .at("errors")
          .at(0),
      HasSubstr("a password stands here, and would be kept in etcd"));
  EXPECT_THAT(api_->call("DELETE", "/cameras/{name}", "dock", "", 409).at("errors").at(0),
              HasSubstr("the cluster's rig:"))
      << "a mosaic names it";
  api_->call("DELETE", "/cameras/{name}", "none", "", 404);
  api_->call("DELETE", "/mosaics/{name}", "wall", "", 200);
  EXPECT_TRUE(eventually([&] { return !in_etcd().contains("wall"); }));
  api_->call("POST", "/cameras/{name}/disable", "yard");
  const auto state = [&] { return get_status()["cameras"]["yard"].value("state", ""); };
  EXPECT_TRUE(eventually([&] { return state() == "disabled"; })) << east_->log();
  api_->call("POST", "/cameras/{name}/enable", "yard");
  EXPECT_TRUE(eventually([&] { return state() == "running"; })) << east_->log();
  api_->call("POST", "/cameras/{name}/enable", "none", "", 404);
  api_->call("DELETE", "/cameras/{name}", "yard", "", 200);
  EXPECT_TRUE(eventually([&] { return !in_etcd().contains("yard") && in_etcd().contains("dock"); }));
}

// Each changes what it has read; who is the later one of two has to look again.
TEST_F(ClusterSeen, OfTwoWhoChangeItsRigAtOnceNoneUndoesTheOthersChange) {
  const std::string yard = R"({"config": {"source": "test://pattern?width=160&height=120&rate=5", "enabled": false}})";
  const auto put_five = [&](const RigRun& rig, int http, const std::string& name) {
    const std::string headers = headers_of(rig, http) + "Content-Type: application/json\r\n";
    for (int i = 0; i < 5; ++i) {
      const std::string put = "PUT /api/v1/cameras/" + name + std::to_string(i);
      EXPECT_TRUE(eventually([&] {
        const Reply reply = ask(static_cast<std::uint16_t>(http), put, headers, yard);
        EXPECT_THAT(reply.status, testing::AnyOf(201, 409)) << reply.body;
        return reply.status == 201;
      })) << rig.log();
    }
  };
  {
    const std::jthread other([&] { put_five(*west_, west_http_, "west-"); });
    put_five(*east_, http_, "east-");
  }
  for (const std::string by : {"east-", "west-"}) {
    for (int i = 0; i < 5; ++i) {
      Reply reply;  // as long as the node has not yet read what was changed last, 409
      const std::string removal = "DELETE /api/v1/cameras/" + by + std::to_string(i);
      EXPECT_TRUE(eventually([&] { return (reply = ask(port(), removal, headers_)).status != 409; })) << reply.body;
      EXPECT_EQ(reply.status, 200) << removal << ": " << reply.body;
    }
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
