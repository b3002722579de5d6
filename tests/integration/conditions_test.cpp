// What is missing when a rig starts, a disk, a file, a GPU or a certificate, costs what needs it, and only as long as
// it is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/tls_peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string pattern_camera(const std::string& name, const std::string& path) {
  return "  " + name +
         R"(: {source: "test://pattern?width=160&height=120&rate=10", encode: {gop: 10}, record: {path: ")" + path +
         "\"}}\n";
}

class Conditions : public testing::Test {
 protected:
  [[nodiscard]] std::string with(const std::string& cameras) const {
    return "http_address: \"127.0.0.1:" + std::to_string(port_) +
           "\"\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" + cameras;
  }
  [[nodiscard]] json status_of(const std::string& camera) const {
    try {
      return json::parse(ask(static_cast<std::uint16_t>(port_), "GET /api/v1/cameras/" + camera).body);
    } catch (const std::exception&) {
      return {};  // it does not listen yet
    }
  }
  [[nodiscard]] Reply put(const RigRun& rig, const std::string& camera, const std::string& keys) const {
    const std::string token = read_text(rig.file("state/token-" + std::to_string(port_)));
    return ask(static_cast<std::uint16_t>(port_), "PUT /api/v1/cameras/" + camera,
               "Authorization: Bearer " + token + "\r\n", R"({"config": )" + keys + "}");
  }
  [[nodiscard]] bool is_paused(const std::string& camera) const {
    const json status = status_of(camera);
    return status.is_object() && status.contains("recording_paused");
  }

  const int port_ = free_port();
};

// A link to where the disk will be.
TEST_F(Conditions, ADiskThatIsNotThereYet) {
  TemporaryFolder disks;
  const fs::path disk = disks.path() / "disk";
  const fs::path link = disks.path() / "link";
  fs::create_symlink(disk, link);
  RigRun rig(with(pattern_camera("gate", "gate.mp4") + pattern_camera("dock", (link / "dock.mp4").string())));
  ASSERT_TRUE(rig.wait_for_growth("gate.mp4", 1000)) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("not now: rig.yaml:6:"));
  ASSERT_TRUE(eventually([&] { return is_paused("dock"); })) << rig.log();
  EXPECT_THAT(status_of("dock").at("recording_paused").get<std::string>(), HasSubstr("cannot make the folder"));
  // A change is refused only for what it changes.
  EXPECT_EQ(
      put(rig, "other", R"({"source": "test://pattern?width=160&height=120&rate=10", "record": {"path": "other.mp4"}})")
          .status,
      201)
      << rig.log();
  EXPECT_TRUE(rig.wait_for_growth("other.mp4", 1000)) << rig.log();
  fs::create_directory(disk);
  EXPECT_TRUE(eventually([&] { return fs::exists(disk / "dock.mp4") && fs::file_size(disk / "dock.mp4") > 1000; }))
      << rig.log();
  EXPECT_TRUE(eventually([&] { return !is_paused("dock"); }));
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("gate.mp4")), true), "");
  EXPECT_EQ(check_pattern_recording(read_video(disk / "dock.mp4"), true), "");
}

// Another recording begins, which its disk keeps waiting as well: however soon that is after the stop.
TEST_F(Conditions, ARecordingThatIsStoppedAndStartedAtOnceIsPausedAgain) {
  TemporaryFolder disks;
  const fs::path link = disks.path() / "link";
  fs::create_symlink(disks.path() / "disk", link);
  RigRun rig(with(pattern_camera("dock", (link / "dock.mp4").string())));
  const std::string paused = "dock: recording paused";
  ASSERT_TRUE(eventually([&] { return rig.log().find(paused) != std::string::npos; })) << rig.log();
  const std::string token = read_text(rig.file("state/token-" + std::to_string(port_)));
  for (const std::string request : {"stop-recording", "record"}) {
    const Reply reply = ask(static_cast<std::uint16_t>(port_), "POST /api/v1/cameras/dock/" + request,
                            "Authorization: Bearer " + token + "\r\n");
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
  EXPECT_TRUE(eventually([&] { return rig.log().find(paused) != rig.log().rfind(paused); })) << rig.log();
  EXPECT_TRUE(eventually([&] { return is_paused("dock"); })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 3) << rig.log();
}

// It is waited for, and plays from its beginning.
TEST_F(Conditions, AFileThatIsNotThereYet) {
  TemporaryFolder disks;
  const fs::path late = disks.path() / "disk" / "late.mp4";
  RigRun rig(with(pattern_camera("gate", "gate.mp4") + "  late: {source: \"" + late.string() +
                  "\", retry_interval: 250ms, retry_max: 500ms, encode: {gop: 10}, record: {path: late.mp4}}\n"));
  ASSERT_TRUE(rig.wait_for_growth("gate.mp4", 1000)) << rig.log();
  ASSERT_TRUE(eventually([&] { return status_of("late").value("state", "") == "waiting"; })) << rig.log();
  EXPECT_THAT(status_of("late").at("reason").get<std::string>(), HasSubstr("No such file or directory"));
  make_clip(disks.path(), {.name = "made.mp4", .frames = 30});
  fs::create_directory(late.parent_path());
  fs::rename(disks.path() / "made.mp4", late);
  EXPECT_TRUE(eventually([&] { return status_of("late").value("state", "") == "ended"; })) << status_of("late");
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(read_video(rig.file("late.mp4")).pictures.size(), 30U);
}

// What stands where the file will be need not be a file: a mount point is a folder.
TEST_F(Conditions, AFolderWhereAFileWillBe) {
  TemporaryFolder disks;
  const fs::path late = disks.path() / "late.mp4";
  fs::create_directory(late);
  RigRun rig(with(pattern_camera("gate", "gate.mp4") + "  late: {source: \"" + late.string() +
                  "\", retry_interval: 250ms, retry_max: 500ms, encode: {gop: 10}, record: {path: late.mp4}}\n"));
  ASSERT_TRUE(rig.wait_for_growth("gate.mp4", 1000)) << rig.log();
  ASSERT_TRUE(eventually([&] { return status_of("late").value("state", "") == "waiting"; })) << rig.log();
  EXPECT_THAT(status_of("late").at("reason").get<std::string>(), HasSubstr("is a folder, not a video file"));
  make_clip(disks.path(), {.name = "made.mp4", .frames = 30});
  fs::remove(late);
  fs::rename(disks.path() / "made.mp4", late);
  EXPECT_TRUE(eventually([&] { return status_of("late").value("state", "") == "ended"; })) << status_of("late");
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(read_video(rig.file("late.mp4")).pictures.size(), 30U);
}

// No machine has so many. What else is changed meanwhile is none of its business.
TEST_F(Conditions, AGpuThatIsNotThere) {
  std::string yaml =
      with(pattern_camera("gate", "gate.mp4") +
           "  dock: {source: \"test://pattern?width=160&height=120&rate=10\", gpu: 999, filters: [{resize: "
           "{width: 80, height: 60}}], encode: {gop: 10}, record: {path: dock.mp4}}\n");
  RigRun rig(yaml);
  ASSERT_TRUE(rig.wait_for_growth("gate.mp4", 1000)) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("dock.mp4", 1000)) << rig.log();
  EXPECT_THAT(rig.log(), AllOf(HasSubstr("not now: rig.yaml:6:"), HasSubstr("GPU 999 is gone: ")));
  const auto lost = [&] {
    return json::parse(ask(static_cast<std::uint16_t>(port_), "GET /api/v1/status").body)
        .value("lost_gpus", json::array());
  };
  ASSERT_TRUE(eventually([&] { return lost().size() == 1; })) << rig.log();
  EXPECT_EQ(lost()[0].at("gpu"), "999");
  EXPECT_EQ(lost()[0].at("state"), "gone");
  EXPECT_EQ(lost()[0].at("cameras"), json({"dock"}));
  EXPECT_EQ(
      put(rig, "other", R"({"source": "test://pattern?width=160&height=120&rate=10", "record": {"path": "other.mp4"}})")
          .status,
      201)
      << rig.log();
  std::ofstream(rig.file("rig.yaml")) << yaml + pattern_camera("third", "third.mp4");
  rig.signal(SIGHUP);
  EXPECT_TRUE(rig.wait_for_growth("third.mp4", 1000)) << rig.log();
  EXPECT_THAT(rig.log(), Not(HasSubstr("not reloaded")));
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
}

// Cameras run, and nothing is served meanwhile, without TLS neither.
TEST_F(Conditions, ACertificateThatIsNotThereYet) {
  TemporaryFolder disk;
  const std::string certificate = (disk.path() / "cert.pem").string();
  const std::string key = (disk.path() / "key.pem").string();
  const std::string yaml =
      "tls: {certificate: " + certificate + ", key: " + key + "}\n" + with(pattern_camera("gate", "gate.mp4"));
  RigRun rig(yaml);
  ASSERT_TRUE(rig.wait_for_growth("gate.mp4", 1000)) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("not now: rig.yaml:1:20: tls.certificate: the file '" + certificate));
  ASSERT_TRUE(eventually([&] { return rig.log().find("nothing is served yet") != std::string::npos; })) << rig.log();
  static_cast<void>(make_certificate(disk));
  EXPECT_TRUE(eventually([&] { return rig.log().find("watch at https://") != std::string::npos; })) << rig.log();
  // One that is away again stays in use.
  fs::remove(key);
  std::ofstream(rig.file("rig.yaml")) << yaml + pattern_camera("third", "third.mp4");
  rig.signal(SIGHUP);
  EXPECT_TRUE(rig.wait_for_growth("third.mp4", 1000)) << rig.log();
  EXPECT_TRUE(eventually([&] { return rig.log().find("the certificate before stays") != std::string::npos; }))
      << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
}

// Of one camera's server.
TEST_F(Conditions, AnAuthorityThatIsNotThere) {
  RigRun rig(with(pattern_camera("gate", "gate.mp4") + "  far: {source: \"rtsps://127.0.0.1:" +
                  std::to_string(free_port()) + "/s\", tls: {ca_file: nowhere.pem}}\n"));
  ASSERT_TRUE(rig.wait_for_growth("gate.mp4", 1000)) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("cameras.far.tls.ca_file: the file 'nowhere.pem' cannot be read"));
  EXPECT_TRUE(eventually([&] { return status_of("far").value("state", "") == "waiting"; })) << status_of("far");
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 3) << "it never came\n" << rig.log();
}

TEST_F(Conditions, AreNoMistakesForCheck) {
  const Answer checked =
      ask({"--check", "--config", "rig.yaml"},
          with(pattern_camera("gate", "gate.mp4") + pattern_camera("dock", "rig.yaml/dock.mp4") +
               "  late: {source: nowhere.mp4}\n  far: {source: \"rtsps://127.0.0.1/s\", tls: {ca_file: "
               "nowhere.pem}}\n  gpu: {source: nowhere.mp4, gpu: 999}\nmps: use\n"));
  EXPECT_EQ(checked.status, 0) << checked.errors;
  EXPECT_THAT(checked.output,
              AllOf(HasSubstr("not now: rig.yaml:6:"), HasSubstr("rig.yaml' is not a folder"), HasSubstr("fine: ")));
  EXPECT_THAT(checked.output,
              AllOf(HasSubstr("not now: rig.yaml:7:18: cameras.late.source: there is no file 'nowhere.mp4'"),
                    HasSubstr("not now: rig.yaml:8:55: cameras.far.tls.ca_file: "),
                    HasSubstr("not now: rig.yaml:9:35: cameras.gpu.gpu: "),
                    HasSubstr("not now: rig.yaml:10:6: mps: no MPS daemon can be reached")));
  const Answer wrong = ask({"--check", "--config", "rig.yaml"}, with("  gate: {source: \".\"}\n"));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.output, Not(HasSubstr("fine")));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
