// Changes of cameras that are going, or have failed: they touch nobody else, and mean what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "tests/faults/fault_rig.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/stop_process.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

std::string head(int port) {
  return "http_address: 127.0.0.1:" + std::to_string(port) +
         "\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 10, bitrate: 1M}}\ncameras:\n";
}

std::string camera(const std::string& name, const std::string& more = "") {
  return "  " + name + ": {source: \"test://pattern?width=160&height=120&rate=25\", record: {path: " + name + ".mp4}" +
         more + "}\n";
}

// Its thread in the master may wait for a worker that does not come: the master is told to forget it only then.
TEST(Change, OfACameraThatWasJustQuarantinedLeavesTheMasterAlone) {
  const int port = free_port();
  RigRun rig(head(port) + camera("a") + camera("b"), {.failpoints = "stage.frame@a:20=segv"});
  ASSERT_TRUE(eventually([&] { return rig.log().find("a: quarantined") != std::string::npos; })) << rig.log();
  const pid_t master = rig.pid_of("master");
  std::ofstream(rig.file("rig.yaml")) << head(port) + camera("a", ", queue_size: 4") + camera("b");
  rig.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return rig.log().find("a: added") != std::string::npos; })) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("b.mp4", rig.size("b.mp4") + 2000)) << rig.log();
  EXPECT_EQ(rig.pid_of("master"), master) << rig.log();
  rig.signal(SIGTERM);
  rig.wait();
  EXPECT_EQ(rig.report().at("master_restarts"), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
}

// Also while its processes still work.
TEST(Change, ThatDisablesACameraEndsRequestsForItsRecording) {
  const auto port = static_cast<std::uint16_t>(free_port());
  RigRun rig(head(port) + camera("a") + camera("b"));
  ASSERT_TRUE(rig.wait_for_growth("b.mp4", 2000)) << rig.log();
  stop_process(rig.pid_of("worker 0"));  // until it is killed for it: meanwhile the camera cannot go
  ASSERT_EQ(ask(port, "POST /api/v1/cameras/b/disable").status, 200) << rig.log();
  EXPECT_EQ(ask(port, "POST /api/v1/cameras/b/record").status, 409);
  EXPECT_EQ(ask(port, "POST /api/v1/cameras/b/stop-recording").status, 409);
  EXPECT_EQ(rig.log().find("b: disabled; "), std::string::npos) << "the camera had gone before it was asked for";
  ASSERT_TRUE(eventually([&] { return rig.log().find("b: disabled; ") != std::string::npos; })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
}

// As long as something of it is left it is shown, but nobody can have it back.
TEST(Change, OfACameraThatWasRemovedIsRefused) {
  const auto port = static_cast<std::uint16_t>(free_port());
  RigRun rig(head(port) + camera("a") + camera("b"));
  ASSERT_TRUE(rig.wait_for_growth("b.mp4", 2000)) << rig.log();
  stop_process(rig.pid_of("worker 0"));  // until it is killed for it: meanwhile the camera cannot go
  std::ofstream(rig.file("rig.yaml")) << head(port) + camera("a");
  rig.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return ask(port, "POST /api/v1/cameras/b/enable").status == 404; })) << rig.log();
  EXPECT_EQ(ask(port, "POST /api/v1/cameras/b/stop-recording").status, 404);
  ASSERT_TRUE(eventually([&] { return rig.log().find("b: removed; ") != std::string::npos; })) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4") + 2000)) << rig.log();
  EXPECT_EQ(rig.log().find("b: added"), std::string::npos) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
}

// What nobody took of a quarantined output is counted also where its camera comes anew.
TEST(Change, OfACameraWithAQuarantinedOutputKeepsItsCounts) {
  const int port = free_port();
  RigRun rig(head(port) + camera("a", ", outputs: {small: {record: {path: small.mp4}}}"),
             {.failpoints = "publisher.live@a/small=segv"});
  ASSERT_TRUE(eventually([&] { return rig.log().find("a/small: quarantined") != std::string::npos; })) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4") + 2000)) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << head(port) +
                                             camera("a",
                                                    ", queue_size: 4, outputs: {small: {record: {path: small.mp4}}}");
  rig.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return rig.log().find("a: added") != std::string::npos; })) << rig.log();
  rig.signal(SIGTERM);
  rig.wait();
  const auto frames = rig.camera("a").at("outputs").at("small").at("frames");
  EXPECT_EQ(frames.at("recorded").get<int>() + frames.at("unrecorded").get<int>(), frames.at("encoded")) << rig.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
