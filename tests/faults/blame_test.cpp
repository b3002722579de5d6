// Whom a crash or a hang is attributed to, where it is not the camera's own thread that has it: threads that its codecs
// have started, and stacks that overflow. The camera is quarantined at the third, the others go on to their end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include <fstream>

#include "tests/faults/fault_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/times_in.h"
#include "tests/unit/process_state.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr int frames = 100;

std::string pattern(int length) {
  return "\"test://pattern?width=160&height=120&rate=25&frames=" + std::to_string(length) + "\"";
}

// Two workers: `bad` alone has the first. `well` runs for `length` frames.
std::string rig_with(const std::string& source, const std::string& keys, int length) {
  return "http_address: off\nrtsp_address: off\ndefaults: {drop_policy: block, encode: {gop: 10, bitrate: 500k}, "
         "record: {path: \"{camera}.mp4\"}}\n"
         "workers: {count: 2}\ncameras:\n  bad:\n    source: " +
         source + "\n" + keys + "  well: {source: " + pattern(length) + "}\n";
}

void expect_quarantined(RigRun& rig, int length) {
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  const json report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  const json bad = report.at("cameras").at("bad");
  EXPECT_EQ(bad.at("state"), "failed") << rig.log();
  EXPECT_THAT(bad.at("reason").get<std::string>(), HasSubstr("three times"));
  const json well = report.at("cameras").at("well");
  EXPECT_EQ(well.at("state"), "ended");
  EXPECT_EQ(well.at("frames").at("recorded"), length);
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("well.mp4")), true), "");
}

// A camera whose stream is decoded by threads of libavcodec.
class DecodedByThreads : public testing::Test {
 protected:
  DecodedByThreads() {
    make_clip(folder_.path(), {.name = "bad.mp4", .frames = 100});
    source_ = "\"" + (folder_.path() / "bad.mp4").string() + "\"";
  }
  [[nodiscard]] std::string rig(int length) const {
    return rig_with(
        source_, "    loop: true\n    decode: {threads: 2}\n    encode: {codec: h264}\n    record: {path: bad.mp4}\n",
        length);
  }

  TemporaryFolder folder_;
  std::string source_;
};

TEST_F(DecodedByThreads, AnOverflowOfTheirStackIsTheCameras) {
  RigRun run(rig(frames), {.failpoints = "decoder.buffer:20=overflow"});
  expect_quarantined(run, frames);
}

// The camera's own thread waits for it, and uses no CPU time.
TEST_F(DecodedByThreads, WhatTheyWorkOnForLongIsNoHang) {
  RigRun run(rig(600), {.failpoints = "decoder.buffer:20=work"});
  const auto is_hang = [&] { return run.log().find("did not answer") != std::string::npos; };
  const auto goes_on = [&] { return run.has_grown("well.mp4", 1) && run.has_grown("bad.mp4", 60'000); };
  // Two of them work for twelve seconds each.
  ASSERT_TRUE(eventually([&] { return goes_on() || is_hang(); }, std::chrono::seconds(24) + long_time)) << run.log();
  EXPECT_FALSE(is_hang()) << run.log();
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 0) << run.log();
  EXPECT_EQ(run.report().at("master_restarts"), 0) << run.log();
}

// The next master's decoder does not hang.
TEST_F(DecodedByThreads, AHangIsFoundAndIsTheCameras) {
  const auto hangs = folder_.path() / "hangs";
  std::ofstream(hangs).put('\n');
  RigRun run(rig(0), {.failpoints = "decoder.buffer:20=hang_once" + hangs.string()});
  ASSERT_TRUE(eventually([&] { return run.log().find("did not answer") != std::string::npos; }, 2 * long_time))
      << run.log();
  EXPECT_THAT(run.log(), testing::ContainsRegex("bad: its thread in master did not answer [^\n]*in its decoder"));
  for (const char* file : {"well.mp4", "bad.mp4"}) EXPECT_TRUE(run.wait_for_growth(file, run.size(file))) << run.log();
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 0) << run.log();
  EXPECT_EQ(run.report().at("master_restarts"), 1) << run.log();
}

TEST(StackOverflow, OfTheCamerasThreadInItsWorkerIsTheCameras) {
  RigRun run(rig_with(pattern(0), "", frames), {.failpoints = "stage.frame@bad:20=overflow"});
  expect_quarantined(run, frames);
}

// The threads of a process that have this name, as children inherit it.
std::vector<pid_t> threads_called(pid_t process, const std::string& name) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", error)) {
    if (read_text(task.path() / "comm") == name + "\n") found.push_back(std::stoi(task.path().filename()));
  }
  std::ranges::sort(found);
  return found;
}

// One that waits for work has begun, and is known as its camera's.
bool sleeps(pid_t process, pid_t thread) {
  return state_in("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread)) == 'S';
}

TEST(EncodedByThreads, ACrashIsTheCameras) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << answers_signals;
#endif
  constexpr int length = 200;
  RigRun rig(rig_with(pattern(0), "    encode: {codec: hevc, threads: 4}\n", length));
  pid_t worker = -1;
  for (std::size_t crash = 1; crash <= 3; ++crash) {
    // Besides the camera's own thread, which is the first.
    std::vector<pid_t> threads;
    ASSERT_TRUE(eventually([&] {
      const auto found = rig.find("worker 0");
      if (!found || *found == worker) return false;
      threads = threads_called(*found, "st:bad");
      if (threads.size() < 3 || !sleeps(*found, threads.back())) return false;
      worker = *found;
      return true;
    })) << rig.log();
    ASSERT_EQ(::syscall(SYS_tgkill, worker, threads.back(), SIGSEGV), 0);
    ASSERT_TRUE(eventually([&] { return times_in(rig.log(), "bad: crashed its process") == crash; })) << rig.log();
  }
  expect_quarantined(rig, length);
}

// Nobody is quarantined for it: there is no telling who it was.
TEST(ThreadOfNobody, CrashesAndItsProcessComesBack) {
  if (is_sanitized) GTEST_SKIP() << answers_signals;
  RigRun rig(rig_with(pattern(0), "", 0));
  pid_t worker = 0;
  for (int crash = 1; crash <= 4; ++crash) {
    worker = rig.successor_of("worker 0", worker);
    const auto size = rig.size("bad.mp4");
    ASSERT_TRUE(rig.wait_for_growth("bad.mp4", size)) << rig.log();
    ASSERT_EQ(::syscall(SYS_tgkill, worker, worker, SIGSEGV), 0);  // its main thread
  }
  const auto size = rig.size("bad.mp4");
  ASSERT_TRUE(rig.wait_for_growth("bad.mp4", size + 1)) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(times_in(rig.log(), "works for no camera"), 4U) << rig.log();
  EXPECT_THAT(rig.log(), Not(HasSubstr("quarantined")));
  EXPECT_EQ(check_accounting(rig.report()), "");
}

// Its threads still wait for a worker that does not come any more, and whoever ends them does not wait for that.
TEST(Quarantined, EndsWithTheRigAtOnce) {
  RigRun run(rig_with(pattern(0), "", 0), {.failpoints = "stage.frame@bad=segv"});
  ASSERT_TRUE(eventually([&] { return run.log().find("bad: quarantined") != std::string::npos; })) << run.log();
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 3) << run.log();
  EXPECT_THAT(run.log(), Not(HasSubstr("does not answer")));
  EXPECT_EQ(check_accounting(run.report()), "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
