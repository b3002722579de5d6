// Cameras that speak RTSP over TLS, with certificates of an authority that was made here: tools/testcam and the real
// program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "core/error.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* recording = "cam.mp4";
constexpr std::uintmax_t some = 15'000;  // bytes of a recording: a second or less

void openssl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "openssl");
  if (Program(arguments).wait() != 0) throw Error("openssl " + arguments.at(1) + " failed");
}

class Rtsps : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = TestCamera::missing(); !reason.empty()) GTEST_SKIP() << reason;
    make_authority("ours");
    make_authority("other");
    make_certificate("ours");
  }

  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  void make_authority(const std::string& name) const {
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=" + name, "-keyout", file(name + ".key"), "-out", file(name + ".pem"), "-batch"});
  }

  // camera.pem: what a camera at this machine shows, signed by `authority`, and its key.
  void make_certificate(const std::string& authority) const {
    openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=camera",
             "-keyout", file("camera.key"), "-out", file("camera.csr"), "-batch"});
    std::ofstream(file("extensions")) << "subjectAltName=IP:127.0.0.1\n";
    openssl({"x509", "-req", "-in", file("camera.csr"), "-CA", file(authority + ".pem"), "-CAkey",
             file(authority + ".key"), "-set_serial", "1", "-days", "2", "-extfile", file("extensions"), "-out",
             file("camera.crt")});
    std::ofstream(file("camera.pem")) << std::ifstream(file("camera.crt")).rdbuf()
                                      << std::ifstream(file("camera.key")).rdbuf();
  }

  // `tls`: the camera's key of that name.
  void begin(const TestCamera& camera, const std::string& tls) {
    rig_ = std::make_unique<RigRun>(
        "cameras:\n  cam:\n    source: \"rtsps://ada:love1ace@127.0.0.1:" + std::to_string(camera.port()) +
        "/cam\"\n    retry_interval: 100ms\n    retry_max: 500ms\n    tls: " + tls + "\n    encode: {gop: 10}\n" +
        "    record: {path: " + recording + "}\n");
  }

  json end(int status) {
    rig_->signal(SIGTERM);
    EXPECT_EQ(rig_->wait(), status) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
    EXPECT_THAT(rig_->log() + rig_->report().dump(), Not(HasSubstr("love1ace")));
    return rig_->camera("cam");
  }

  void expect_to_play(const std::string& tls) {
    TestCamera camera({"--tls", file("camera.pem"), "--user", "ada", "--password", "love1ace", "--digest"});
    begin(camera, tls);
    ASSERT_TRUE(rig_->wait_for_growth(recording, some)) << rig_->log();
    camera.command("drop");
    ASSERT_TRUE(eventually([&] { return rig_->log().find("cam: delivers again") != std::string::npos; }))
        << rig_->log();
    ASSERT_TRUE(rig_->wait_for_growth(recording, rig_->size(recording) + some)) << rig_->log();
    const json cam = end(0);
    EXPECT_EQ(cam.at("reconnects"), 1);
    EXPECT_GT(read_video(rig_->file(recording)).pictures.size(), 10U);
  }

  TemporaryFolder folder_;
  std::unique_ptr<RigRun> rig_;
};

TEST_F(Rtsps, PlaysWithTheAuthorityThatSignedTheCertificate) { expect_to_play("{ca_file: " + file("ours.pem") + "}"); }

TEST_F(Rtsps, PlaysWithAnyCertificateWhereThatIsWanted) { expect_to_play("{verify: false}"); }

TEST_F(Rtsps, RefusesACertificateOfAnotherAuthority) {
  const TestCamera camera({"--tls", file("camera.pem")});
  begin(camera, "{ca_file: " + file("other.pem") + "}");
  ASSERT_TRUE(eventually([&] { return rig_->log().find("cam: away") != std::string::npos; })) << rig_->log();
  const json cam = end(3);
  EXPECT_EQ(cam.at("state"), "failed");
  EXPECT_THAT(cam.at("reason").get<std::string>(), HasSubstr("shows a certificate that is not trusted"));
  EXPECT_THAT(cam.at("reason").get<std::string>(), HasSubstr("ca_file"));
  EXPECT_EQ(rig_->size(recording), 0U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
