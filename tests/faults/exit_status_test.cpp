// The exit status of a rig is 0 where all its cameras ended as was asked: with their sources, with --duration, by a
// signal. A camera that ended for any other reason makes it 3, so that a service manager starts the rig again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr const char* head =
    "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 10, bitrate: 1M}}\ncameras:\n";

// Of 25 frames a second; `frames` 0: without end.
std::string camera(const std::string& name, int frames, const std::string& more = "") {
  return "  " + name + ": {source: \"test://pattern?width=160&height=120&rate=25&frames=" + std::to_string(frames) +
         "\", record: {path: " + name + ".mp4}" + more + "}\n";
}

TEST(ExitStatus, IsZeroWithTheDuration) {
  RigRun rig(head + camera("a", 0) + camera("b", 10), {.arguments = {"--duration", "2s"}});
  EXPECT_EQ(rig.wait(), 0) << rig.log();
}

// The others go on to their ends, and have lost nothing.
TEST(ExitStatus, IsThreeWhereOneCameraFails) {
  RigRun rig(head + camera("a", 0) + camera("b", 75), {.failpoints = "stage.pushed@a:20=throw"});
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_EQ(rig.report().at("exit"), "ended");
  EXPECT_EQ(check_accounting(rig.report()), "");
  const auto a = rig.camera("a");
  EXPECT_EQ(a.at("state"), "failed") << a;
  EXPECT_THAT(std::string(a.at("reason")), testing::HasSubstr("a failpoint threw this")) << rig.log();
  EXPECT_EQ(rig.camera("b").at("state"), "ended");
  EXPECT_EQ(rig.camera("b").value("reason", ""), "");
  EXPECT_EQ(rig.camera("b").at("frames").at("decoded"), 75);
}

std::string serving_head(std::uint16_t port) {
  return "http_address: 127.0.0.1:" + std::to_string(port) +
         "\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 10, bitrate: 1M}}\ncameras:\n";
}

bool has_state(std::uint16_t port, const std::string& name, const std::string& state) {
  const Reply reply = ask(port, "GET /api/v1/cameras/" + name);
  return reply.status == 200 && nlohmann::json::parse(reply.body).at("state") == state;
}

// Where pages are served a user can enable it again; a service manager that starts the rig again has nothing better.
// The sources that end are over.
TEST(ExitStatus, ARigThatServesWaitsForCamerasThatMayComeBack) {
  const auto port = static_cast<std::uint16_t>(free_port());
  const TemporaryFolder folder;
  const auto throws = folder.path() / "throws";
  std::ofstream(throws).put('\n');
  RigRun rig(serving_head(port) + camera("a", 0) + camera("b", 10),
             {.failpoints = "ingest.packet@a:20=throw_once" + throws.string()});
  ASSERT_TRUE(eventually([&] { return rig.log().find("watch at") != std::string::npos; })) << rig.log();
  ASSERT_TRUE(eventually([&] { return has_state(port, "a", "failed") && has_state(port, "b", "ended"); })) << rig.log();
  ASSERT_EQ(ask(port, "POST /api/v1/cameras/a/enable").status, 200);
  ASSERT_TRUE(rig.wait_for_growth("a-1.mp4", 2000)) << rig.log();
  ASSERT_EQ(ask(port, "POST /api/v1/cameras/a/disable").status, 200);
  ASSERT_TRUE(eventually([&] { return has_state(port, "a", "disabled"); })) << rig.log();
  // Its processes have no work any more; one that dies is a death that is counted, and no restart of a camera's.
  const pid_t master = rig.pid_of("master");
  ::kill(master, SIGKILL);
  ASSERT_TRUE(eventually([&] { return rig.log().find("restarted when a camera needs it") != std::string::npos; }))
      << rig.log();
  ASSERT_EQ(ask(port, "POST /api/v1/cameras/a/enable").status, 200);
  ASSERT_TRUE(eventually([&] { return has_state(port, "a", "running"); })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.report().at("master_restarts"), 1) << rig.log();
  EXPECT_EQ(rig.camera("a").at("worker_restarts"), 0) << rig.log();
}

// What could not be handed over within the time that a rig has to end is lost.
TEST(ExitStatus, IsThreeWhereTheEndCameTooSoon) {
  const int port = free_port();
  RigRun rig("http_address: 127.0.0.1:" + std::to_string(port) +
                 "\nrtsp_address: off\ndefaults: {encode: {gop: 10, bitrate: 1M}}\ncameras:\n" + camera("a", 0),
             {.failpoints = "publisher.packet@a:22=wait30"});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  ASSERT_TRUE(eventually([&] {
    const Reply reply = ask(static_cast<std::uint16_t>(port), "GET /api/v1/cameras/a");
    return reply.status == 200 && nlohmann::json::parse(reply.body).at("frames").at("encoded") >= 40;
  })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
