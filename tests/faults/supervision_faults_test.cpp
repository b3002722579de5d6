// What is sent, late or slow ends neither the rig nor cameras: exceptions in a process, start-up with many cameras,
// a log that is not read.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "tests/faults/supervision_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/stop_process.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Also the next publisher does not take it for one that records.
TEST(Recording, OfACameraThatHasEndedIsOver) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a") + camera("b", "", 10) + camera("c", ", enabled: false"));
  ASSERT_TRUE(wait_for_state(port, "b", "ended")) << rig.log();
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  const Answer answer = ask({"status", "--url", "http://127.0.0.1:" + std::to_string(port)});
  EXPECT_THAT(answer.output, ContainsRegex("\na +running [^\n]* on( |\n)"));
  EXPECT_THAT(answer.output, ContainsRegex("\n[bc] +(ended|disabled) "));
  EXPECT_THAT(answer.output, Not(ContainsRegex("\n[bc] +(ended|disabled) [^\n]* on( |\n)")));
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t before = rig.pid_of("publisher");
  ::kill(before, SIGKILL);
  rig.successor_of("publisher", before);
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  EXPECT_EQ(try_request(port, "POST /api/v1/cameras/b/stop-recording").status, 409) << rig.log();
  expect_goes_on(rig, "a");
  EXPECT_EQ(rig.report().at("publisher_restarts"), 1);
}

TEST(Exception, InTheMasterEndsNoCamera) {
  const int port = free_port();
  const TemporaryFolder folder;
  const auto throws = folder.path() / "throws";  // a successor does not, whatever is left to be told
  std::ofstream(throws).put('\n');
  RigRun rig(server(port) + "cameras:\n" + camera("a"),
             {.failpoints = "child.message@source_rings_over=throw_once" + throws.string()});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t before = rig.pid_of("master");
  std::ofstream(rig.file("rig.yaml")) << server(port) + "cameras:\n" + camera("a") + camera("b");
  rig.signal(SIGHUP);  // no camera ends yet
  ASSERT_TRUE(rig.wait_for_growth("b.mp4", 2000)) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << server(port) + "cameras:\n" + camera("a");
  rig.signal(SIGHUP);
  rig.successor_of("master", before);
  expect_goes_on(rig, "a");
}

TEST(Change, ThatCannotBeMadeLeavesItsCameraAsFailed) {
  const int port = free_port();
  const std::string others = server(port) + "cameras:\n" + camera("a");
  RigRun rig(others + camera("b"), {.failpoints = "supervisor.placing@b=throw"});
  ASSERT_TRUE(wait_for_state(port, "b", "running")) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << others + camera("b", ", queue_size: 21");
  rig.signal(SIGHUP);
  ASSERT_TRUE(wait_for_state(port, "b", "failed")) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << others + camera("b", ", queue_size: 22");
  rig.signal(SIGHUP);
  ASSERT_TRUE(wait_for_state(port, "b", "running")) << rig.log();
  expect_goes_on(rig, "a");
}

TEST(Rig, RunsFromAFileWhoseNameIsNotUtf8) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a"), {.config = "caf\xe9.yaml"});
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  rig.signal(SIGHUP);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  expect_goes_on(rig, "a");
  EXPECT_EQ(restarts(rig.report()), 0) << rig.log();
}

TEST(Rig, DoesNotWaitForTheMemoryOfAProcess) {
  RigRun rig("http_address: off\nrtsp_address: off\ncameras:\n" + camera("a", "", 50),
             {.failpoints = "memory.sampling=wait100"});
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.camera("a").at("frames").at("recorded"), 50);
}

TEST(Rig, DoesNotWaitForAReaderOfItsLog) {
  std::string yaml = "http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n";
  for (int i = 0; i < 8; ++i) yaml += camera("c" + std::to_string(i), "", 50);
  RigRun rig(yaml, {.arguments = {"--log-level", "trace"}, .unread = true});
  EXPECT_EQ(rig.wait(), 0);
  const auto report = rig.report();
  EXPECT_EQ(restarts(report), 0);
  for (const auto& [name, one] : report.at("cameras").items()) EXPECT_EQ(one.at("frames").at("recorded"), 50) << name;
}

TEST(Rig, DoesNotWaitForTheDiskOfItsReport) {
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" + camera("a"),
             {.failpoints = "report.writing=wait100"});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  ::kill(worker, SIGKILL);
  rig.successor_of("worker 0", worker);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 1) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("the report 'report.json' is not written"));
}

TEST(Rig, DoesNotStartWhereTheDiskOfItsReportDoesNotAnswer) {
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" + camera("a"),
             {.failpoints = "report.opening=hang"});
  EXPECT_EQ(rig.wait(), 2) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("--report: cannot write 'report.json': its disk does not answer"));
}

// The others do not wait for it at the barrier.
TEST(Start, OfAProcessThatCannotBeStartedHoldsUpNobody) {
  std::string failpoints;
  for (int i = 0; i < 12; ++i) failpoints += "supervisor.starting@worker 1=throw,";  // one after the other
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n" + camera("a") + camera("b"),
             {.failpoints = failpoints});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("tried again"));
  EXPECT_FALSE(rig.find("worker 1"));
  rig.signal(SIGTERM);
  rig.wait();
}

// The kernel's buffer between two processes holds the messages of some ninety cameras.
TEST(Start, OfManyCamerasInSlowProcesses) {
  constexpr int cameras = 128;
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 2}\ndefaults:\n  encode: {codec: mjpeg}\n"
      "  source: \"test://pattern?width=160&height=120&rate=1&frames=2\"\n  record: {path: "
      "\"{camera}.mp4\"}\ncameras:\n";
  for (int i = 0; i < cameras; ++i) yaml += "  c" + std::to_string(i) + ": {}\n";
  RigRun rig(yaml, {.failpoints = "child.starting=wait3"});
  EXPECT_EQ(rig.wait(2 * long_time), 0) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(restarts(report), 0) << rig.log();
  for (const auto& [name, one] : report.at("cameras").items()) {
    EXPECT_EQ(one.at("frames").at("recorded"), 2) << name;
  }
}

// What lies in the packet rings is written, although the publisher would have waited for longer than the rig may take.
TEST(Ending, StartsAProcessThatWaitsForItsRestart) {
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 10, bitrate: 1M}}\n"
      "cameras:\n" +
      camera("a"));
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  pid_t publisher = rig.pid_of("publisher");
  const auto waits = [&] {
    return rig.log().find("publisher died") != std::string::npos &&
           rig.log().find("restarted in 4.00 s") != std::string::npos;
  };
  while (!waits()) {
    ::kill(publisher, SIGKILL);
    const bool next = eventually([&] { return waits() || rig.find("publisher").value_or(publisher) != publisher; });
    ASSERT_TRUE(next) << rig.log();
    publisher = rig.find("publisher").value_or(publisher);
  }
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  const auto frames = rig.camera("a").at("frames");
  EXPECT_EQ(frames.at("recorded"), frames.at("encoded")) << rig.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
