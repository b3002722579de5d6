// A worker that is too slow for its camera: with policy `drop` frames are lost, told, and the rest is recent.
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <thread>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
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

// A live camera whose worker keeps up, but for moments.
class HeldUp : public testing::Test {
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

TEST_F(HeldUp, AgainAndAgainLosesNothing) {
  for (int time = 0; time < 3; ++time) {  // longer in all than a worker is waited for once
    hold_up(milliseconds(600));
    go_on();
    std::this_thread::sleep_for(milliseconds(6500));
  }
  rig_->signal(SIGINT);
  expect_nothing_lost();
}

TEST_F(HeldUp, WhenTheRigEndsLosesNothing) {
  hold_up(milliseconds(500));  // the frames' queue is full, and the next one waits
  rig_->signal(SIGINT);
  EXPECT_TRUE(eventually([&] { return rig_->log().find("ending (stopped)") != std::string::npos; })) << rig_->log();
  go_on();
  expect_nothing_lost();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
