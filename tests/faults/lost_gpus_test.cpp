// GPUs that go and come back while a rig runs, of those that campipe_faults pretends to have: a and c are on GPU 0, b
// and d on GPU 1, each with a master and a worker. tools/gpu-check has the same with real ones (section gone).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <string>

#include "core/gpu.h"
#include "core/pretended_gpus.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"
#include "tests/integration/test_camera.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr int first = 0;
constexpr int second = 1;
constexpr unsigned in_flight = 16;  // frames that a worker has taken, or that wait for it

std::string uuid(int gpu) { return to_string(pretended_gpu(static_cast<unsigned>(gpu))); }

// `more`: of each camera, by its name.
std::string rig_of(const std::string& cameras, const std::string& policy = "drop") {
  return "http_address: off\nrtsp_address: off\ndefaults:\n  drop_policy: " + policy +
         "\n  encode: {gop: 10, bitrate: 1M}\n  source: \"test://pattern?width=320&height=240&rate=25\"\n"
         "  record: {path: \"{camera}.mp4\"}\ncameras:\n" +
         cameras;
}

const char* const four = "  a: {}\n  b: {}\n  c: {}\n  d: {}\n";

class LostGpus : public testing::Test {
 protected:
  [[nodiscard]] std::string flag() const { return (folder_.path() / "gone").string(); }
  void set_flag() const { std::ofstream(flag()).put('\n'); }
  void clear_flag() const { std::filesystem::remove(flag()); }

  // No new process can use it.
  [[nodiscard]] std::string is_missed(int gpu, const std::string& how = "throw") const {
    return "worker.beginning@" + uuid(gpu) + ":1+=throw" + flag() + ",master.beginning@" + uuid(gpu) + ":1+=throw" +
           flag() + ",probe.checking@" + uuid(gpu) + ":1+=" + how + flag();
  }

  void start(const std::string& yaml, const std::string& failpoints, unsigned gpus = 2) {
    waits_.reset();
    rig_.emplace(yaml, RigOptions{.failpoints = failpoints, .pretended_gpus = gpus});
    waits_.emplace(*rig_);
  }
  bool logs(const std::string& text, std::chrono::nanoseconds limit = long_time) {
    return eventually([&] { return rig_->log().find(text) != std::string::npos || !rig_->running(); }, limit) &&
           rig_->running();
  }
  void expect_records(const std::string& name) {
    EXPECT_TRUE(rig_->wait_for_growth(name, rig_->size(name) + 5000)) << rig_->log();
  }
  // Each of the cameras goes on there, and in its file.
  void expect_on(const std::string& place, const std::vector<std::string>& cameras) {
    for (const std::string& camera : cameras) {
      ASSERT_TRUE(logs(camera + ": runs on " + place + " now")) << rig_->log();
      expect_records(camera + ".mp4");
      EXPECT_FALSE(std::filesystem::exists(rig_->file(camera + "-1.mp4"))) << "its file ended\n" << rig_->log();
    }
  }
  void end() {
    rig_->signal(SIGINT);
    ASSERT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
  }
  std::uint64_t lost(const std::string& camera) {
    std::uint64_t sum = 0;
    const nlohmann::json own = rig_->camera(camera);
    for (const auto& [cause, frames] : own.at("frames").at("dropped").items()) sum += frames.get<std::uint64_t>();
    return sum;
  }
  // What happened to the others was nothing to it.
  void expect_unhurt(const std::string& camera) {
    EXPECT_EQ(check_late_only(rig_->camera(camera), 25, *waits_), "") << rig_->log();
  }
  // Between neighbouring frames of a file of 25 a second, rounded to frames.
  std::int64_t largest_step(const std::string& file) {
    constexpr std::int64_t frame = 40'000'000;  // ns
    const auto times = times_of(read_video(rig_->file(file)));
    std::int64_t largest = 0;
    for (std::size_t i = 1; i < times.size(); ++i)
      largest = std::max(largest, (times[i] - times[i - 1] + frame / 4) / frame);
    return largest;
  }
  std::string place(const std::string& camera) { return rig_->camera(camera).at("gpu").get<std::string>(); }

  TemporaryFolder folder_;
  std::optional<RigRun> rig_;
  std::optional<RigWaits> waits_;  // since it began
};

// A live camera goes back, below.
TEST_F(LostGpus, ItsCamerasRunOnTheOtherOne) {
  start(rig_of(four), is_missed(second));
  for (const char* name : {"a.mp4", "b.mp4", "d.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  EXPECT_TRUE(rig_->find("worker 0") && rig_->find("worker 1")) << "each has a worker of its own";
  set_flag();
  RigWaits waits(*rig_);
  const auto since = Clock::now();
  ::kill(rig_->pid_of("worker 1"), SIGKILL);
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"b", "d"}));
  EXPECT_LT(Clock::now() - since, seconds(5) + waits.so_far()) << rig_->log();
  EXPECT_THAT(rig_->log(), HasSubstr("GPU 1 is gone: worker 1 could not begin on it; a failpoint threw this"));
  EXPECT_FALSE(rig_->find("worker 1"));
  EXPECT_TRUE(eventually([&] { return !rig_->find("master 1"); })) << "it has nothing to do any more\n" << rig_->log();
  end();
  for (const char* name : {"a", "c"}) expect_unhurt(name);
  EXPECT_EQ(place("a"), "0");
  EXPECT_EQ(place("b"), "0");
  EXPECT_EQ(place("d"), "0");
}

// What it had not handed over is decoded once more.
TEST_F(LostGpus, AContextThatAMasterLosesCostsNoFrame) {
  start(rig_of(four, "block"), "ingest.published@b:60=gpu_lost");
  ASSERT_TRUE(logs("master 1 died (exit status 100)")) << rig_->log();
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4", "d.mp4"}) expect_records(name);
  end();
  EXPECT_THAT(rig_->log(), Not(HasSubstr("is gone")));
  EXPECT_EQ(lost("a") + lost("b") + lost("c") + lost("d"), 0U) << rig_->log();
  EXPECT_EQ(rig_->report().at("master_restarts"), 1);
}

// Whose GPU nothing has used before.
TEST_F(LostGpus, ACameraThatComesLaterIsDecodedOnItsGpu) {
  start(rig_of("  a: {gpu: 0}\n"), "none=throw");
  ASSERT_TRUE(rig_->wait_for_growth("a.mp4", 5000));
  EXPECT_FALSE(rig_->find("master")) << "nothing is decoded on the CPU";
  EXPECT_FALSE(rig_->find("master 1"));
  const pid_t before = rig_->pid_of("master 0");
  std::ofstream(rig_->file("rig.yaml")) << rig_of("  a: {gpu: 0}\n  b: {gpu: 1}\n  c: {gpu: cpu}\n");
  rig_->signal(SIGHUP);
  for (const char* name : {"b.mp4", "c.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000)) << rig_->log();
  static_cast<void>(rig_->pid_of("master 1"));
  static_cast<void>(rig_->pid_of("master"));
  EXPECT_EQ(rig_->find("master 0"), before);
  end();
  expect_unhurt("a");
}

TEST_F(LostGpus, TheOnlyOneLeavesItsCamerasToTheCpu) {
  start(rig_of("  a: {}\n  b: {}\n"), is_missed(first, "hang"), 1);
  for (const char* name : {"a.mp4", "b.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  set_flag();
  RigWaits waits(*rig_);
  const auto since = Clock::now();
  ::kill(rig_->pid_of("worker 0"), SIGKILL);
  ASSERT_NO_FATAL_FAILURE(expect_on("the CPU", {"a", "b"}));
  EXPECT_LT(Clock::now() - since, seconds(7) + waits.so_far()) << rig_->log();
  EXPECT_THAT(rig_->log(), HasSubstr("was not done within 3 s"));
  end();
  EXPECT_EQ(place("a"), "cpu");
}

// It fails, and is started when its GPU is back. Nobody else notices.
TEST_F(LostGpus, ACameraWithoutAPlaceComesBackWithItsGpu) {
  start(rig_of("  a: {gpu: 0}\n  b: {gpu: 1}\n"), is_missed(second) + ",supervisor.placing@b:1+=throw" + flag());
  for (const char* name : {"a.mp4", "b.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  set_flag();
  ::kill(rig_->pid_of("worker 1"), SIGKILL);
  ASSERT_TRUE(logs("b: cannot go on elsewhere, and comes anew")) << rig_->log();
  ASSERT_TRUE(logs("b: cannot be started")) << rig_->log();
  expect_records("a.mp4");
  clear_flag();
  ASSERT_TRUE(logs("b: runs on GPU 1 now")) << rig_->log();
  expect_records("b-1.mp4");
  end();
  expect_unhurt("a");
}

// By stage, with another number of nodes where two of its stages are on one GPU; by tile; in a group; shown by a
// mosaic.
TEST_F(LostGpus, CamerasOfSeveralNodesGoOnToo) {
  const std::vector<std::string> displaced{"stages", "tiles", "right", "shown"};
  start(rig_of("  left: {gpu: 0}\n  right: {gpu: 1}\n  shown: {gpu: 1}\n"
               "  stages: {filters: [sharpen, {blur: {sigma: 1}}], placement: {decode: 0, filter: [1, 0], encode: 0}}\n"
               "  tiles: {filters: [sharpen], placement: {tiles: [0, 1], encode: 1}}\n"
               "sync_groups: {stereo: {cameras: [left, right], rate: 25}}\n"
               "mosaics:\n  wall: {cameras: [left, shown], gpu: 0, width: 320, height: 240, rate: 10, "
               "record: {path: wall.mp4}, encode: {gop: 10, bitrate: 1M}}\n"),
        is_missed(second));
  const std::vector<std::string> all{"left", "right", "shown", "stages", "tiles", "wall"};
  for (const std::string& name : all) ASSERT_TRUE(rig_->wait_for_growth(name + ".mp4", 5000)) << rig_->log();
  set_flag();
  ::kill(rig_->pid_of("worker 1"), SIGKILL);
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", displaced));
  for (const std::string& name : all) expect_records(name + ".mp4");
  end();
  for (const std::string& name : all)
    EXPECT_FALSE(std::filesystem::exists(rig_->file(name + "-1.mp4"))) << name << '\n' << rig_->log();
  expect_unhurt("left");
}

// Its GPU goes and comes back while it is decoded, passed on as it comes, and heard. All of that goes on in the same
// files, in one connection.
TEST_F(LostGpus, ALiveCameraStaysConnectedAndItsCopyLosesNothing) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  const TestCamera camera({"--width", "320", "--height", "240", "--gop", "20", "--audio"});
  start(rig_of("  a: {gpu: 0}\n  live:\n    source: \"" + camera.url() +
               "\"\n    gpu: 1\n    drop_policy: block\n    rtsp_transport: tcp\n"
               "    outputs:\n      copy: {encode: {codec: copy}, record: {path: copy.mp4}}\n"),
        is_missed(second));
  for (const char* file : {"live.mp4", "copy.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(file, 5000)) << file;
  const int connections = camera.connections();
  set_flag();
  ::kill(rig_->pid_of("worker 1"), SIGKILL);
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"live"}));
  clear_flag();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 1", {"live"}));
  expect_records("copy.mp4");
  end();
  EXPECT_EQ(camera.connections(), connections) << rig_->log();
  const auto live = rig_->camera("live");
  EXPECT_EQ(live.at("reconnects"), 0) << live;
  EXPECT_EQ(live.at("gpu"), "1");
  EXPECT_LE(lost("live"), in_flight) << live << rig_->log();
  EXPECT_TRUE(live.at("outputs").at("copy").at("frames").at("dropped").empty()) << live;
  EXPECT_EQ(largest_step("copy.mp4"), 1) << "frames";
  EXPECT_FALSE(std::filesystem::exists(rig_->file("copy-1.mp4"))) << rig_->log();
  const std::vector<double> sound = sound_times(rig_->file("copy.mp4"));
  EXPECT_GT(sound.back(), read_video(rig_->file("copy.mp4")).duration_s - 1);
  for (std::size_t i = 1; i < sound.size(); ++i) ASSERT_LT(sound[i] - sound[i - 1], 0.1) << "at " << sound[i];
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
