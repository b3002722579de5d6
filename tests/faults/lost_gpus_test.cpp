// GPUs that go and come back while a rig runs, of those that campipe_faults pretends to have: a and c are on GPU 0, b
// and d on GPU 1, each with a master and a worker. tools/gpu-check has the same with real ones (section gone).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <list>
#include <string>

#include "core/gpu.h"
#include "core/pretended_gpus.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"
#include "tests/integration/test_camera.h"
#include "tests/integration/times_in.h"

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

  // A worker on it is lost at once, and each of its successors.
  [[nodiscard]] std::string loses_contexts(int gpu) const {
    return "worker.tick@" + uuid(gpu) + ":1+=gpu_lost" + flag();
  }
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
  // Each of the cameras goes on there, for the so many-th time, and in its file.
  void expect_on(const std::string& place, const std::vector<std::string>& cameras, std::size_t times = 1) {
    for (const std::string& camera : cameras) {
      const std::string moved = camera + ": runs on " + place + " now";
      ASSERT_TRUE(eventually([&] { return times_in(rig_->log(), moved) >= times || !rig_->running(); })) << rig_->log();
      ASSERT_TRUE(rig_->running()) << rig_->log();
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

TEST_F(LostGpus, PretendedOnesHaveWorkersOfTheirOwn) {
  start(rig_of(four), "none=throw");
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4", "d.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  end();
  EXPECT_EQ(place("a"), "0");
  EXPECT_EQ(place("b"), "1");
  EXPECT_EQ(place("c"), "0");
  EXPECT_EQ(place("d"), "1");
}

TEST_F(LostGpus, ItsCamerasRunOnTheOtherOneAndGoBack) {
  start(rig_of(four), is_missed(second));
  for (const char* name : {"a.mp4", "b.mp4", "d.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  set_flag();
  RigWaits waits(*rig_);
  const auto since = Clock::now();
  ::kill(rig_->pid_of("worker 1"), SIGKILL);
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"b", "d"}));
  EXPECT_LT(Clock::now() - since, seconds(5) + waits.so_far()) << rig_->log();
  EXPECT_THAT(rig_->log(), HasSubstr("GPU 1 is gone: worker 1 could not begin on it; a failpoint threw this"));
  EXPECT_FALSE(rig_->find("worker 1"));
  EXPECT_TRUE(eventually([&] { return !rig_->find("master 1"); })) << "it has nothing to do any more\n" << rig_->log();
  clear_flag();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 1", {"b", "d"}));
  end();
  for (const char* name : {"a", "c"}) expect_unhurt(name);
  EXPECT_EQ(place("a"), "0");
  EXPECT_EQ(place("b"), "1");
  EXPECT_EQ(place("d"), "1");
}

TEST_F(LostGpus, OneThatLosesContextsAgainAndAgainIsGoneAgainstItsChecks) {
  start(rig_of(four), loses_contexts(second));
  for (const char* name : {"a.mp4", "b.mp4", "d.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  set_flag();
  RigWaits waits(*rig_);
  const auto since = Clock::now();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"b", "d"}));
  EXPECT_LT(Clock::now() - since, seconds(5) + waits.so_far()) << rig_->log();
  EXPECT_THAT(rig_->log(), HasSubstr("again and again, though a new process can use it"));
  end();
  for (const char* name : {"a", "c"}) expect_unhurt(name);
}

// Its worker notices nothing. Who decodes on the other one goes on, and a new master comes with the GPU.
TEST_F(LostGpus, OneThatItsMasterCannotUse) {
  start(rig_of(four), is_missed(second));
  for (const char* name : {"a.mp4", "b.mp4", "d.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  const pid_t other = rig_->pid_of("master 0");
  set_flag();
  ::kill(rig_->pid_of("master 1"), SIGKILL);
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"b", "d"}));
  EXPECT_THAT(rig_->log(), HasSubstr("GPU 1 is gone: master 1 could not begin on it; a failpoint threw this"));
  EXPECT_TRUE(logs("since its GPU is gone; restarted when a camera needs it")) << rig_->log();
  EXPECT_THAT(rig_->log(), Not(HasSubstr("worker 1 died"))) << "it had no fault";
  EXPECT_FALSE(rig_->find("master 1"));
  clear_flag();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 1", {"b", "d"}));
  EXPECT_EQ(rig_->find("master 0"), other);
  static_cast<void>(rig_->pid_of("master 1"));
  end();
  for (const char* name : {"a", "c"}) expect_unhurt(name);
}

// Each time in a new master, which sees the GPUs that are there then; the one before is ended.
TEST_F(LostGpus, ACameraThatIsDecodedApartStaysSo) {
  start(rig_of("  a: {gpu: 0}\n  b: {gpu: 1, decode: {isolation: always}}\n"), is_missed(second));
  for (const char* name : {"a.mp4", "b.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  EXPECT_FALSE(rig_->find("master 1")) << "it has nothing to decode";
  const pid_t others = rig_->pid_of("master 0");
  pid_t own = rig_->pid_of("master q0");
  const auto has_another = [&] {  // the same number, if the one before was ended before the camera came anew
    std::vector<pid_t> found;
    for (const char* role : {"master q0", "master q1"}) {
      if (const auto pid = rig_->find(role)) found.push_back(*pid);
    }
    const bool another = found.size() == 1 && found.front() != own;
    if (another) own = found.front();
    return another;
  };
  set_flag();
  ::kill(rig_->pid_of("worker 1"), SIGKILL);
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"b"}));
  EXPECT_TRUE(eventually(has_another)) << rig_->log();
  clear_flag();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 1", {"b"}));
  EXPECT_TRUE(eventually(has_another)) << rig_->log();
  EXPECT_EQ(rig_->find("master 0"), others);
  end();
  expect_unhurt("a");
  EXPECT_EQ(rig_->report().at("master_restarts"), 0);
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

TEST_F(LostGpus, OneLostContextIsARestart) {
  start(rig_of(four), "worker.tick@" + uuid(second) + ":60=gpu_lost");
  ASSERT_TRUE(logs("worker 1 died (exit status 100)")) << rig_->log();
  expect_records("b.mp4");
  end();
  EXPECT_THAT(rig_->log(), Not(HasSubstr("is gone")));
  EXPECT_EQ(place("b"), "1");
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
  clear_flag();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"a", "b"}));
  end();
  EXPECT_EQ(place("a"), "0");
}

TEST_F(LostGpus, ThoseThatNameItRunElsewhereMeanwhile) {
  start(rig_of("  a: {gpu: 0}\n  b: {gpu: 1, drop_policy: block}\n  c: {gpu: cpu}\n"), is_missed(second));
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  set_flag();
  ::kill(rig_->pid_of("worker 1"), SIGKILL);
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"b"}));
  clear_flag();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 1", {"b"}));
  end();
  for (const char* name : {"a", "c"}) expect_unhurt(name);
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

// The camera that loses contexts takes no second GPU along.
TEST_F(LostGpus, WhatGoesOnAfterAMoveIsNoGpusFault) {
  start(rig_of(four), loses_contexts(second) + ",worker.tick@" + uuid(first) + ":1+=gpu_lost" + flag() + "2");
  for (const char* name : {"a.mp4", "b.mp4", "d.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  set_flag();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"b"}));
  std::ofstream(flag() + "2").put('\n');
  ASSERT_TRUE(logs("b: goes on to the CPU, since GPU 0 is lost as the one was that it came from")) << rig_->log();
  std::filesystem::remove(flag() + "2");
  ASSERT_NO_FATAL_FAILURE(expect_on("the CPU", {"b"}));
  expect_records("a.mp4");
  end();
  EXPECT_THAT(rig_->log(), Not(HasSubstr("GPU 0 is gone")));
  EXPECT_EQ(place("a"), "0");
}

// Nothing of its decoding is lost: only what its worker had taken, or could have.
TEST_F(LostGpus, AFileGoesOnAfterItsNewestFrame) {
  const std::string source = "source: \"test://pattern?width=320&height=240&rate=25&frames=";
  start(rig_of("  a: {" + source + "300\"}\n  b: {" + source + "250\", drop_policy: block}\n"), is_missed(second));
  for (const char* name : {"a.mp4", "b.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000));
  set_flag();
  ::kill(rig_->pid_of("worker 1"), SIGKILL);
  ASSERT_TRUE(logs("b: runs on GPU 0 now")) << rig_->log();
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  EXPECT_EQ(check_accounting(rig_->report()), "");
  EXPECT_EQ(rig_->camera("b").at("frames").at("decoded"), 250) << rig_->log();
  EXPECT_LE(lost("b"), in_flight) << rig_->camera("b");
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
  clear_flag();
  for (const std::string name : {"stages", "tiles", "right", "shown"}) {
    const auto runs = [&] { return times_in(rig_->log(), name + ": runs on ") >= 2 || !rig_->running(); };
    ASSERT_TRUE(eventually(runs)) << name << '\n' << rig_->log();
  }
  for (const std::string& name : all) expect_records(name + ".mp4");
  end();
  for (const std::string& name : all)
    EXPECT_FALSE(std::filesystem::exists(rig_->file(name + "-1.mp4"))) << name << '\n' << rig_->log();
  EXPECT_EQ(rig_->camera("tiles").at("gpu"), "1");
  expect_unhurt("left");
}

// The first tile is held up at a frame, and has a queue when the worker dies that joins them. It ends with what it has.
TEST_F(LostGpus, WithPolicyBlockNoPartWaitsForOneThatIsGone) {
  start(rig_of("  a: {gpu: 0}\n  tiles: {filters: [sharpen], placement: {tiles: [0, 1], encode: 1}}\n", "block"),
        is_missed(second) + ",stage.frame@tiles:100=wait2,stage.frame@tiles:201=kill");
  ASSERT_TRUE(rig_->wait_for_growth("tiles.mp4", 1000)) << rig_->log();
  set_flag();
  ASSERT_TRUE(logs("GPU 1 is gone")) << rig_->log();
  RigWaits waits(*rig_);
  const auto since = Clock::now();
  ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", {"tiles"}));
  EXPECT_LT(Clock::now() - since, seconds(20) + waits.so_far()) << rig_->log();
  clear_flag();
  end();
  expect_unhurt("a");
}

// Their GPU goes and comes back, by the death of its worker, and of its master, while they are decoded, passed on as
// they come, and heard. All of that goes on in the same files, in one connection.
TEST_F(LostGpus, LiveCamerasStayConnectedAndTheirCopiesLoseNothing) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  const std::vector<std::string> policies{"block", "drop"};  // a camera for each
  std::list<TestCamera> cameras;
  std::string yaml = "  a: {gpu: 0}\n";
  for (const std::string& policy : policies) {
    const TestCamera& camera =
        cameras.emplace_back(std::vector<std::string>{"--width", "320", "--height", "240", "--gop", "20", "--audio"});
    yaml += "  " + policy + ":\n    source: \"" + camera.url() + "\"\n    gpu: 1\n    drop_policy: " + policy +
            "\n    rtsp_transport: tcp\n    outputs:\n      copy: {encode: {codec: copy}, record: {path: copy-of-" +
            policy + ".mp4}}\n";
  }
  start(rig_of(yaml), is_missed(second));
  for (const std::string& name : policies) {
    for (const std::string& file : {name + ".mp4", "copy-of-" + name + ".mp4"})
      ASSERT_TRUE(rig_->wait_for_growth(file, 5000)) << file;
  }
  std::vector<int> connections;
  for (const TestCamera& camera : cameras) connections.push_back(camera.connections());
  std::size_t times = 0;
  for (const char* role : {"worker 1", "master 1"}) {
    SCOPED_TRACE(role);
    ++times;
    set_flag();
    ::kill(rig_->pid_of(role), SIGKILL);
    ASSERT_NO_FATAL_FAILURE(expect_on("GPU 0", policies, times));
    clear_flag();
    ASSERT_NO_FATAL_FAILURE(expect_on("GPU 1", policies, times));
    for (const std::string& name : policies) expect_records("copy-of-" + name + ".mp4");
  }
  end();
  auto connected = connections.begin();
  for (const TestCamera& camera : cameras) EXPECT_EQ(camera.connections(), *connected++) << rig_->log();
  for (const std::string& name : policies) {
    SCOPED_TRACE(name);
    const auto live = rig_->camera(name);
    EXPECT_EQ(live.at("reconnects"), 0) << live;
    EXPECT_EQ(live.at("gpu"), "1");
    EXPECT_LE(lost(name), times * in_flight) << live << rig_->log();
    EXPECT_TRUE(live.at("outputs").at("copy").at("frames").at("dropped").empty()) << live;
    const std::string copy = "copy-of-" + name + ".mp4";
    EXPECT_EQ(largest_step(copy), 1) << "frames";
    EXPECT_FALSE(std::filesystem::exists(rig_->file("copy-of-" + name + "-1.mp4"))) << rig_->log();
    const std::vector<double> sound = sound_times(rig_->file(copy));
    EXPECT_GT(sound.back(), read_video(rig_->file(copy)).duration_s - 1);
    for (std::size_t i = 1; i < sound.size(); ++i) ASSERT_LT(sound[i] - sound[i - 1], 0.1) << "at " << sound[i];
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
