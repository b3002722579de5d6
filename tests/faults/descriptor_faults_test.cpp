// Descriptors that are exhausted end neither the rig nor other cameras.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "tests/faults/supervision_rig.h"
#include "tests/integration/test_camera.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

// Connections that do nothing leave the rig the descriptors that it needs, also for the rings of a new worker.
TEST(Descriptors, IdleConnectionsLeaveRoomForRings) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a"), {.descriptors = 200});
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  std::vector<std::unique_ptr<TcpClient>> idle;
  for (int i = 0; i < 250; ++i) {
    try {
      idle.push_back(std::make_unique<TcpClient>(static_cast<std::uint16_t>(port)));
    } catch (const Error&) {
      break;
    }
  }
  EXPECT_GT(idle.size(), 50U);
  const pid_t publisher = rig.pid_of("publisher");
  for (int time = 0; time < 2; ++time) {
    const pid_t worker = rig.pid_of("worker 0");
    ::kill(worker, SIGKILL);
    rig.successor_of("worker 0", worker);
    ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  }
  EXPECT_EQ(rig.pid_of("publisher"), publisher) << rig.log();
  expect_goes_on(rig, "a");
}

// More cameras than there are descriptors for: some fail, with the reason; the others are recorded, and no process
// dies.
TEST(Descriptors, CamerasWithoutFailAlone) {
  constexpr int cameras = 24;
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 5}}\ncameras:\n";
  for (int i = 0; i < cameras; ++i) yaml += camera("c" + std::to_string(i), "", 50);
  RigRun rig(yaml, {.descriptors = 72});
  EXPECT_EQ(rig.wait(2 * long_time), 3) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  int good = 0;
  for (const auto& [name, one] : report.at("cameras").items()) {
    if (one.at("state") == "failed") {
      EXPECT_NE(one.value("reason", ""), "") << name;
    } else {
      EXPECT_EQ(one.at("frames").at("decoded"), 50) << name;
      ++good;
    }
  }
  EXPECT_GT(good, 0) << rig.log();
  EXPECT_LT(good, cameras) << "the limit was not low enough for this test";
  EXPECT_EQ(restarts(rig.report()), 0) << rig.log();
}

TEST(Descriptors, TheCheckSaysWhatTheRigNeeds) {
  const std::string yaml = "http_address: off\nrtsp_address: off\ncameras:\n" + camera("a") + camera("b");
  RigRun enough(yaml, {.command = {"--config", "rig.yaml", "--check"}});
  EXPECT_EQ(enough.wait(), 0);
  EXPECT_THAT(enough.output(), HasSubstr("descriptors"));
  EXPECT_EQ(enough.log(), "");
  RigRun few(yaml, {.descriptors = 40, .command = {"--config", "rig.yaml", "--check"}});
  EXPECT_EQ(few.wait(), 0);
  EXPECT_THAT(few.log(), HasSubstr("LimitNOFILE"));
}

// What there is no room for is refused before anything is changed, also where only a camera is enabled.
TEST(Descriptors, ACameraThatFindsNoneIsNotEnabled) {
  const int port = free_port();
  constexpr int cameras = 24;
  std::string yaml = server(port) + "cameras:\n" + camera("a");
  for (int i = 0; i < cameras; ++i) yaml += camera("c" + std::to_string(i), ", enabled: false");
  RigRun rig(yaml, {.descriptors = 110});
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  int refused = 0;
  for (int i = 0; i < cameras && refused == 0; ++i) {
    const Reply reply = try_request(port, "POST /api/v1/cameras/c" + std::to_string(i) + "/enable");
    EXPECT_TRUE(reply.status == 200 || reply.status == 409) << reply.status << reply.body;
    if (reply.status == 409) {
      ++refused;
      EXPECT_THAT(reply.body, HasSubstr("descriptors"));
      EXPECT_TRUE(wait_for_state(port, "c" + std::to_string(i), "disabled"));
    }
  }
  EXPECT_EQ(refused, 1) << "the limit was not low enough for this test";
  expect_goes_on(rig, "a");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
