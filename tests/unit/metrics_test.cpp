// What Prometheus is told, checked by its own tools and by itself.
#include "app/publisher/server/api/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "app/config/public_address.h"
#include "app/control/json_fields.h"
#include "app/publisher/server/access.h"
#include "app/publisher/server/api/api.h"
#include "app/publisher/server/api/shown_status.h"
#include "app/publisher/server/page.h"
#include "core/clock.h"
#include "core/error.h"
#include "ipc/rig_page.h"
#include "ipc/shared_block.h"
#include "tests/paths.h"
#include "tests/unit/peers.h"
#include "tests/unit/some_cluster.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

nlohmann::json some_status() {
  return nlohmann::json::parse(R"({
    "version": "0.1.0", "uptime_s": 12.5, "state": "running",
    "cameras": {
      "dock": {"state": "running", "frames": {"decoded": 500, "encoded": 498, "recorded": 490, "converted": 0,
               "dropped": {"queue_full": 2}}, "bytes": 12345, "fps": 25.0, "recording": "dock.mp4", "in_flight": 1,
               "ring": {"slots": 8, "waiting": 1}, "reconnects": 3,
               "motion": {"score_percent": 0.5, "threshold_percent": 0.25, "largest_percent": 7.5, "events": 3},
               "worker_restarts": 1, "source_health": {"corrupt_packets": 4},
               "outputs": {"small": {"state": "running", "frames": {"encoded": 250}, "bytes": 99}}},
      "belt": {"state": "waiting", "frames": {"decoded": 0, "encoded": 0, "dropped": {}}}},
    "processes": [{"role": "worker 0", "pid": 7, "restarts": 1, "cpu_s": 3.25, "memory_mib": 2.0, "gpu": "cpu"}]})");
}

nlohmann::json status_of_a_node() {
  nlohmann::json status = some_status();
  status["cluster"] = write_json(some_cluster());
  status["cluster"]["links"] = some_links();
  status["cluster"]["nodes"]["west"]["clock"] = {{"offset_s", -0.25}, {"bound_s", 0.001}};
  return status;
}

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    rig_.add_stream("dock", std::make_shared<LiveStream>());
    metrics_.add(OutputId(0), "dock");
    metrics_.add(OutputId(1), "dock/small");
    metrics_.add(OutputId(2), "belt");
    page_.shared(OutputId(0)).latency.record(12'000'000);
    page_.shared(OutputId(0)).latency.record(55'000'000);
    page_.shared(OutputId(2)).decode.record(1'000'000);
  }

  HttpAnswer get(const std::string& path, const Identity& identity = Identity::owner(),
                 const std::string& method = "GET") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.identity = identity;
    for (const HttpServer::Route& route : metrics_.routes()) {
      if (route.prefix == path) return route.handle(request);
    }
    throw Error("no route " + path);
  }

  RigPage page_ = RigPage::create(4);
  RigView rig_{[](const messages::Request&) {}};
  nlohmann::json viewers_ = {{{"camera", "dock/small"}, {"form", "rtsp"}},
                             {{"camera", "dock/small"}, {"form", "rtsp"}}};
  GpuMeter gpus_;
  Metrics metrics_{rig_, page_, gpus_, [this] { return viewers_; }};
};

// Where `http_base` may not be.
TEST_F(MetricsTest, TheServersPathsAreKnownToTheConfiguration) {
  Access access(ServerConfig{});
  Api api(rig_, access, [] { return nlohmann::json::array(); });
  std::vector<std::string> prefixes(page_prefixes.begin() + 1, page_prefixes.end());
  for (const HttpServer::Route& route : metrics_.routes()) prefixes.push_back(route.prefix);
  for (const HttpServer::Route& route : api.routes()) prefixes.push_back(route.prefix);
  for (const std::string& prefix : prefixes) EXPECT_TRUE(is_own_path(prefix)) << prefix;
  EXPECT_FALSE(is_own_path("/live-cams"));
}

TEST_F(MetricsTest, TellsWhatTheRigDoes) {
  rig_.set_status(some_status());
  const HttpAnswer answer = get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.type, HasSubstr("text/plain; version=0.0.4"));
  for (const char* line : {
           "# TYPE campipe_frames_total counter",
           "campipe_frames_total{camera=\"dock\",output=\"main\",stage=\"encoded\"} 498\n",
           "campipe_frames_total{camera=\"dock\",output=\"small\",stage=\"encoded\"} 250\n",
           "campipe_frames_dropped_total{camera=\"dock\",output=\"main\",cause=\"queue_full\"} 2\n",
           "campipe_camera_up{camera=\"dock\",output=\"main\"} 1\n",
           "campipe_camera_up{camera=\"belt\",output=\"main\"} 0\n",
           "campipe_recording{camera=\"dock\",output=\"main\"} 1\n",
           "# TYPE campipe_motion_score_ratio gauge",
           "campipe_motion_score_ratio{camera=\"dock\",output=\"main\"} 0.005\n",
           "campipe_motion_threshold_ratio{camera=\"dock\",output=\"main\"} 0.0025\n",
           "campipe_motion_events_total{camera=\"dock\",output=\"main\"} 3\n",
           "campipe_cameras{state=\"waiting\"} 1\n",
           "# TYPE campipe_latency_seconds histogram",
           "campipe_latency_seconds_bucket{camera=\"dock\",output=\"main\",stage=\"total\",le=\"0.02\"} 1\n",
           "campipe_latency_seconds_bucket{camera=\"dock\",output=\"main\",stage=\"total\",le=\"0.06\"} 2\n",
           "campipe_latency_seconds_bucket{camera=\"dock\",output=\"main\",stage=\"total\",le=\"+Inf\"} 2\n",
           "campipe_latency_seconds_count{camera=\"dock\",output=\"main\",stage=\"total\"} 2\n",
           "campipe_queue_frames{camera=\"dock\"} 1\n",
           "campipe_queue_size_frames{camera=\"dock\"} 8\n",
           "campipe_viewers{camera=\"dock\",output=\"small\",form=\"rtsp\"} 2\n",
           "campipe_process_cpu_seconds_total{role=\"worker 0\"} 3.25\n",
           "campipe_process_memory_bytes{role=\"worker 0\"} 2097152\n",
       }) {
    EXPECT_THAT(answer.body, HasSubstr(line));
  }
}

TEST_F(MetricsTest, TellsOfWhatDoesNotGoOn) {
  nlohmann::json status = some_status();
  nlohmann::json& dock = status["cameras"]["dock"];
  dock["recording_paused"] = "no space left";
  dock["push"] = {{"rtsp://a/key", {{"state", "connected"}, {"reason", ""}}},
                  {"srt://c:9000", {{"state", "failed"}, {"reason", "refused"}}}};
  dock["overloaded"] = "worker 0 is overloaded";
  dock["behind_s"] = 51.5;
  rig_.set_status(status);
  const std::string text = get("/metrics").body;
  for (const char* line : {
           "campipe_recording{camera=\"dock\",output=\"main\"} 0\n",
           "campipe_recording_paused{camera=\"dock\",output=\"main\"} 1\n",
           "campipe_push_up{camera=\"dock\",output=\"main\",target=\"rtsp://a\"} 1\n",
           "campipe_push_up{camera=\"dock\",output=\"main\",target=\"srt://c:9000\"} 0\n",
           "campipe_camera_overloaded{camera=\"dock\"} 1\n",
           "campipe_camera_overloaded{camera=\"belt\"} 0\n",
           "campipe_behind_seconds{camera=\"dock\",output=\"main\"} 51.5\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("key"))) << "who reads metrics may not push there";
}

TEST_F(MetricsTest, ANodeSaysItsNameEverywhereAndHowItsClusterIs) {
  rig_.set_status(status_of_a_node());
  const std::string text = get("/metrics").body;
  for (const char* line : {
           "campipe_frames_total{node=\"east\",camera=\"dock\",output=\"main\",stage=\"encoded\"} 498\n",
           "campipe_uptime_seconds{node=\"east\"} 12.5\n",
           "campipe_cluster_nodes{node=\"east\",state=\"here\"} 1\n",
           "campipe_cluster_nodes{node=\"east\",state=\"draining\"} 1\n",
           "campipe_cluster_nodes{node=\"east\",state=\"away\"} 1\n",
           "campipe_cluster_nodes{node=\"east\",state=\"unusable\"} 0\n",
           "campipe_cluster_cameras{node=\"east\"} 2\n",
           "campipe_cluster_cameras_unassigned{node=\"east\"} 1\n",
           "campipe_cluster_etcd_up{node=\"east\"} 1\n",
           "campipe_cluster_plans{node=\"east\"} 1\n",
           "campipe_cluster_clock_offset_seconds{node=\"east\",peer=\"west\"} -0.25\n",
           "campipe_cluster_link_connected{node=\"east\",mosaic=\"lane\",camera=\"gate\",peer=\"west\",direction="
           "\"receives\"} 1\n",
           "direction=\"receives\",result=\"delivered\"} 100\n",
           "direction=\"receives\",result=\"lost\"} 1\n",
           "campipe_cluster_link_refused_total{node=\"east\",mosaic=\"lane\",camera=\"gate\",peer=\"west\",direction="
           "\"receives\"} 3\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with('#') || line.find("{node=\"east\"") != std::string::npos) << line;
  }
  rig_.set_status(some_status());
  EXPECT_THAT(get("/metrics").body, Not(HasSubstr("node=")));
}

TEST_F(MetricsTest, AUserIsToldOfTheCamerasThatUserMaySee) {
  rig_.set_status(some_status());
  UserConfig user;
  user.name = "ada";
  user.cameras = {"belt"};
  const std::string text = get("/metrics", Identity::of(std::make_shared<UserConfig>(user))).body;
  EXPECT_THAT(text, HasSubstr("camera=\"belt\""));
  EXPECT_THAT(text, Not(HasSubstr("dock")));
}

// Nor of others by what they have to do with that one: links and graphs lead to mosaics.
TEST_F(MetricsTest, NoLinkNamesACameraThatMayNotBeSeen) {
  rig_.set_status(status_of_a_node());
  UserConfig user;
  user.name = "ada";
  user.cameras = {"gate"};
  ASSERT_THAT(get("/metrics").body, HasSubstr("mosaic=\"lane\",camera=\"gate\""));
  const std::string text = get("/metrics", Identity::of(std::make_shared<UserConfig>(user))).body;
  for (const char* hidden : {"lane", "dock", "belt"}) EXPECT_THAT(text, Not(HasSubstr(hidden)));
}

// Who has nothing but `metrics` sees numbers, and no picture or status of a camera.
TEST_F(MetricsTest, NeedNoRightToSeePictures) {
  rig_.set_status(some_status());
  UserConfig user;
  user.name = "prometheus";
  user.may = Permission::metrics;
  const Identity identity = Identity::of(std::make_shared<UserConfig>(user));
  const std::string text = get("/metrics", identity).body;
  for (const char* seen : {"camera=\"dock\"", "camera=\"belt\""}) EXPECT_THAT(text, HasSubstr(seen));
  EXPECT_FALSE(identity.may(Permission::view, "belt"));
  EXPECT_EQ(seen_by(identity, some_status(), Permission::view).at("cameras"), nlohmann::json::object());
}

TEST_F(MetricsTest, WithoutAStatusThereAreStillMetrics) {
  EXPECT_THAT(get("/metrics").body, HasSubstr("campipe_build_info"));
}

TEST_F(MetricsTest, CanOnlyBeRead) {
  rig_.set_status(some_status());
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    EXPECT_EQ(get(path).status, 200);
    for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
      const HttpAnswer answer = get(path, Identity::owner(), method);
      EXPECT_EQ(answer.status, 405) << method << path;
      EXPECT_THAT(answer.headers, Contains(Pair("Allow", "GET, HEAD")));
    }
  }
}

TEST_F(MetricsTest, HealthAndReadinessFollowTheStatus) {
  EXPECT_EQ(get("/healthz").status, 503);
  EXPECT_EQ(get("/readyz").status, 503);
  nlohmann::json status = some_status();
  status["cameras"]["belt"]["state"] = "starting";
  rig_.set_status(status);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/readyz").body, "1 camera is starting\n");
  status["cameras"]["dock"]["state"] = "starting";
  rig_.set_status(status);
  EXPECT_EQ(get("/readyz").body, "2 cameras are starting\n");
  rig_.set_status(some_status());
  EXPECT_EQ(get("/readyz").status, 200);
  status = some_status();
  status["state"] = "draining";
  rig_.set_status(status);
  EXPECT_EQ(get("/readyz").status, 503);
}

TEST_F(MetricsTest, PrometheusToolsFindNoFault) {
  rig_.set_status(some_status());
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "metrics").string();
  MetricsInput input{status_of_a_node(), viewers_, {}, {{"GPU-1", "H200", 0.5, 0.25, 0, 1 << 20, 1 << 30}}};
  std::ofstream(file) << get("/metrics").body;
  EXPECT_EQ(Program({"sh", "-c", "promtool check metrics < " + file}).wait(), 0);
  std::ofstream(file) << metrics_text(input);
  EXPECT_EQ(Program({"sh", "-c", "promtool check metrics < " + file}).wait(), 0);
  EXPECT_EQ(Program({"promtool", "check", "config", std::string(source_folder) + "/configs/prometheus.yaml"}).wait(),
            0);
}

std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex name("campipe_[a-z_]+");
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    names.insert(std::regex_replace(at->str(), std::regex("_(bucket|sum|count)$"), ""));
  }
  return names;
}

TEST_F(MetricsTest, WhatTheDashboardShowsIsThere) {
  std::ifstream file(std::string(source_folder) + "/configs/grafana-dashboard.json");
  const nlohmann::json dashboard = nlohmann::json::parse(file);
  std::string expressions;
  for (const auto& panel : dashboard.at("panels")) {
    for (const auto& target : panel.at("targets")) expressions += target.at("expr").get<std::string>() + "\n";
  }
  StreamMetrics stream;
  stream.name = "dock";
  const std::string text = metrics_text({status_of_a_node(), viewers_, {stream}, {{"GPU-1", "H200", 0, 0, 0, 1, 2}}});
  const std::set<std::string> there = names_in(text);
  const std::set<std::string> shown = names_in(expressions);
  EXPECT_GT(shown.size(), 10);
  EXPECT_TRUE(std::ranges::includes(there, shown)) << testing::PrintToString(shown);
}

// What a program prints.
std::string output_of(const std::vector<std::string>& command) {
  Program program(command);
  return program.first_line();
}

TEST_F(MetricsTest, PrometheusScrapesIt) {
  const int port = free_port();
  ServerConfig config;
  config.http_address = "127.0.0.1:" + std::to_string(port);
  Access access(config);
  rig_.set_status(some_status());
  const HttpServer server(config, rig_, access, metrics_.routes());

  const TemporaryFolder folder;
  const std::string file = (folder.path() / "prometheus.yaml").string();
  std::ofstream(file) << "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: campipe, static_configs: "
                         "[{targets: ['127.0.0.1:"
                      << port << "']}]}]\n";
  const std::string address = "127.0.0.1:" + std::to_string(free_port());
  const Program prometheus({"prometheus", "--config.file=" + file, "--log.level=error",
                            "--storage.tsdb.path=" + (folder.path() / "data").string(),
                            "--web.listen-address=" + address});
  const std::string query = "http://" + address + "/api/v1/query?query=campipe_frames_total";
  const auto deadline = Clock::now() + 60s;
  std::string found;
  while (Clock::now() < deadline && found.find("\"498\"") == std::string::npos) {
    found = output_of({"curl", "--silent", "--retry", "20", "--retry-connrefused", "--retry-delay", "1", query});
  }
  EXPECT_THAT(found, HasSubstr("\"498\""));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
