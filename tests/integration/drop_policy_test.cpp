// A worker that is too slow for its camera: with policy `drop` frames are lost, told, and the rest is recent.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <regex>
#include <thread>

#include "core/clock.h"
#include "core/utc_text.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/stop_process.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;

TEST(DropPolicy, LosesPicturesOfTheSlowCameraAndNobodyElses) {
  RigRun rig(
      "workers: {count: 2}\ncameras:\n"
      "  slow:\n    source: \"test://pattern?width=1280&height=720&rate=50&frames=150\"\n"
      "    drop_policy: drop\n    queue_size: 2\n    filters: [{blur: {sigma: 20}}, {resize: {width: 640, height: "
      "360}}]\n"
      "    encode: {preset: veryslow}\n    record: {path: slow.mp4}\n"
      "  quick:\n    source: \"test://pattern?width=320&height=240&rate=50&frames=150\"\n    record: {path: "
      "quick.mp4}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");

  const auto slow = rig.camera("slow");
  EXPECT_EQ(slow.at("frames").at("decoded"), 150);
  EXPECT_GE(slow.at("frames").at("dropped").value("queue_full", 0), 10) << slow;
  EXPECT_EQ(slow.at("frames").at("dropped").size(), 1U) << slow;
  EXPECT_EQ(read_video(rig.file("slow.mp4")).pictures.size(), slow.at("frames").at("recorded").get<std::size_t>());
  // Before a frame are at most those of its queue and the one that the worker has.
  const auto& stages = slow.at("stages_ms");
  const double work = stages.at("filter").at("p99").get<double>() + stages.at("encode").at("p99").get<double>();
  EXPECT_LE(slow.at("latency_ms").at("p95").get<double>(), 4 * work + 100) << slow;

  EXPECT_EQ(rig.camera("quick").at("frames").at("recorded"), 150);
  EXPECT_EQ(rig.camera("quick").at("frames").at("dropped").size(), 0U);
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("quick.mp4")), true), "");
}

// The same with `block`: slower than the frames' own times, but whole.
TEST(DropPolicy, BlockWaitsInstead) {
  RigRun rig(
      "cameras:\n  slow:\n    source: \"test://pattern?width=320&height=240&rate=500&frames=60\"\n"
      "    queue_size: 1\n    filters: [{blur: {sigma: 8}}]\n    encode: {preset: slow}\n"
      "    record: {path: slow.mp4}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.camera("slow").at("frames").at("recorded"), 60);
  EXPECT_EQ(rig.camera("slow").at("frames").at("dropped").size(), 0U);
}

// In real time, a pattern that loses no frames falls behind: by as much as the clock says that is painted into its
// frames. That is said, and one that drops stays near.
TEST(DropPolicy, WhatFallsBehindSaysSo) {
  const auto port = static_cast<std::uint16_t>(free_port());
  const std::string camera =
      ": {source: \"test://pattern?width=640&height=480&rate=200\", queue_size: 1, encode: "
      "{preset: ultrafast, gop: 5}, filters: [denoise: {window: 15, patch: 7}]";
  const std::int64_t begun = utc_now_ns();
  RigRun rig("http_address: \"127.0.0.1:" + std::to_string(port) +
             "\"\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  waits" + camera +
             ", record: {path: waits.mp4}}\n  drops" + camera + ", drop_policy: drop}\n");
  nlohmann::json waits, drops;
  const auto look = [&] {
    const Reply reply = ask(port, "GET /api/v1/status");
    if (reply.status != 200) return false;
    const nlohmann::json cameras = nlohmann::json::parse(reply.body).at("cameras");
    waits = cameras.at("waits");
    drops = cameras.at("drops");
    return waits.contains("behind_s") && drops.contains("behind_s");
  };
  ASSERT_TRUE(rig.wait_for_growth("waits.mp4", 5000)) << rig.log();
  const auto painted = read_video(rig.file("waits.mp4")).pictures.back().code;
  ASSERT_TRUE(painted);
  const double age = static_cast<double>(utc_now_ns() / 1000 - painted->utc_us) / 1e6;
  ASSERT_TRUE(eventually([&] {
    return look() && waits.at("behind_s") >= std::max(age, 3.0) &&
           waits.at("behind_s") > 2 * drops.at("behind_s").get<double>() && waits.contains("overloaded");
  })) << age
      << waits << drops;
  EXPECT_LE(waits.at("behind_s"), static_cast<double>(utc_now_ns() - begun) / 1e9);
  EXPECT_NE(waits.at("overloaded").get<std::string>().find("use `drop_policy: drop`"), std::string::npos) << waits;
  const std::optional<std::int64_t> since = utc_from_text(waits.at("overloaded_since_utc").get<std::string>());
  ASSERT_TRUE(since) << waits;
  EXPECT_GE(*since, begun);
  EXPECT_LE(*since, utc_now_ns());
  EXPECT_NE(ask(port, "GET /metrics").body.find("campipe_behind_seconds{camera=\"waits\",output=\"main\"}"),
            std::string::npos);
  const std::regex said("waits: [^\n]* s behind[^\n]*; use `drop_policy: drop`");
  EXPECT_TRUE(eventually([&] { return std::regex_search(rig.log(), said); })) << rig.log();
  rig.signal(SIGINT);
  rig.signal(SIGINT);
}

// A live camera whose worker keeps up, but for moments.
class WorkerHeldUp : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
    camera_ =
        std::make_unique<TestCamera>(std::vector<std::string>{"--width", "160", "--height", "120", "--gop", "10"});
    rig_ = std::make_unique<RigRun>(
        "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  live:\n    source: \"" +
        camera_->url() +
        "\"\n    rtsp_transport: tcp\n    queue_size: 2\n    encode: {gop: 5}\n    record: {path: live.mp4}\n");
    ASSERT_TRUE(rig_->wait_for_growth("live.mp4", 2000)) << rig_->log();
    worker_ = rig_->pid_of("worker 0");
  }
  void hold_up(milliseconds time) const {
    stop_process(worker_);
    std::this_thread::sleep_for(time);
  }
  void go_on() const { ::kill(worker_, SIGCONT); }
  void expect_nothing_lost() {
    ASSERT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
    EXPECT_TRUE(rig_->camera("live").at("frames").at("dropped").empty()) << rig_->camera("live") << rig_->log();
    EXPECT_EQ(rig_->report().at("workers").at(0).at("restarts"), 0) << rig_->log();
  }

  std::unique_ptr<TestCamera> camera_;
  std::unique_ptr<RigRun> rig_;
  pid_t worker_ = 0;
};

TEST_F(WorkerHeldUp, AgainAndAgainLosesNothing) {
  for (int time = 0; time < 3; ++time) {  // longer in all than a worker is waited for once
    hold_up(milliseconds(600));
    go_on();
    std::this_thread::sleep_for(milliseconds(6500));
  }
  rig_->signal(SIGINT);
  expect_nothing_lost();
}

TEST_F(WorkerHeldUp, WhenTheRigEndsLosesNothing) {
  hold_up(milliseconds(500));  // the frames' queue is full, and the next one waits
  rig_->signal(SIGINT);
  EXPECT_TRUE(eventually([&] { return rig_->log().find("ending (stopped)") != std::string::npos; })) << rig_->log();
  go_on();
  expect_nothing_lost();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
