// Codec `auto`, which is the default: a camera's own stream is passed on as it comes where everybody can play it, and
// encoded where not. What the camera sends is known only when its source is open; until then nothing may be lost of it,
// counted or recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/integration/times_in.h"
#include "tests/unit/command_output.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

constexpr const char* quiet = "http_address: off\nrtsp_address: off\nworkers: {count: 1}\n";

// A line for each packet of the video: what it holds.
std::string packets_of(const std::filesystem::path& file) {
  return output_of("ffprobe -v error -select_streams v:0 -show_entries packet=data_hash -show_data_hash md5 -of csv '" +
                   file.string() + "'");
}

const ClipSpec plain{.name = "plain.mp4", .frames = 50, .b_frames = 2};

class OwnStream : public testing::Test {
 protected:
  std::string clip(const ClipSpec& spec) {
    make_clip(clips_.path(), spec);
    return (clips_.path() / spec.name).string();
  }
  static std::string camera(const std::string& name, const std::string& source, const std::string& keys = "") {
    return "  " + name + ":\n    source: \"" + source + "\"\n    record: {path: " + name + ".mp4}\n" + keys;
  }
  void begin(const std::string& cameras, const std::string& head = quiet) {
    head_ = head;
    rig_ = std::make_unique<RigRun>(head + "cameras:\n" + cameras);
  }
  void reload(const std::string& cameras) {
    std::ofstream(rig_->file("rig.yaml")) << head_ << "cameras:\n" << cameras;
    rig_->signal(SIGHUP);
  }
  void wait_for_more(const std::string& file) {
    ASSERT_TRUE(rig_->wait_for_growth(file, rig_->size(file) + 5000)) << rig_->log();
  }
  void wait_for_log(const std::string& text) {
    ASSERT_TRUE(eventually([&] { return rig_->log().find(text) != std::string::npos; })) << rig_->log();
  }
  [[nodiscard]] std::size_t told(const std::string& text) const { return times_in(rig_->log(), text); }
  // The report.
  nlohmann::json end(bool at_once = true) {
    if (at_once) rig_->signal(SIGTERM);
    EXPECT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
    return rig_->report();
  }

  TemporaryFolder clips_;
  std::string head_;
  std::unique_ptr<RigRun> rig_;
};

TEST_F(OwnStream, OfH264IsRecordedByteForByte) {
  const std::string source = clip(plain);
  begin(camera("cam", source, "    pace: fast\n"));
  const auto report = end(false).at("cameras").at("cam");
  EXPECT_EQ(report.at("encoder"), "copy");
  EXPECT_EQ(report.at("frames").at("recorded"), 50);
  EXPECT_EQ(packets_of(rig_->file("cam.mp4")), packets_of(source));
  EXPECT_EQ(told("cam: h264 is passed on as it comes"), 1U) << rig_->log();
}

// The others are made of its frames, and it costs nothing itself.
TEST_F(OwnStream, IsCopiedBesideOutputsThatAreEncoded) {
  const std::string source = clip(plain);
  begin(camera("cam", source,
               "    pace: fast\n    outputs: {small: {filters: [{resize: {width: 160, height: 120}}], "
               "record: {path: small.mp4}}}\n"));
  const auto report = end(false).at("cameras").at("cam");
  EXPECT_EQ(report.at("encoder"), "copy");
  EXPECT_EQ(packets_of(rig_->file("cam.mp4")), packets_of(source));
  EXPECT_EQ(report.at("outputs").at("small").at("frames").at("recorded"), 50);
  EXPECT_EQ(read_video(rig_->file("small.mp4")).pictures.size(), 50U);
}

struct Other {
  std::string title;
  ClipSpec clip;
  std::string sends;
};
void PrintTo(const Other& other, std::ostream* out) { *out << other.title; }

class OtherStream : public OwnStream, public testing::WithParamInterface<Other> {};

TEST_P(OtherStream, IsEncodedFromItsFirstFrameOn) {
  if (!can_encode(GetParam().clip.encoder)) GTEST_SKIP() << "no encoder " << GetParam().clip.encoder;
  begin(camera("cam", clip(GetParam().clip), "    pace: fast\n"));
  const auto report = end(false).at("cameras").at("cam");
  EXPECT_EQ(report.at("encoder"), "libx264");
  EXPECT_EQ(report.at("frames").at("decoded"), 50);
  EXPECT_EQ(report.at("frames").at("recorded"), 50);
  const VideoFile recorded = read_video(rig_->file("cam.mp4"));
  EXPECT_EQ(check_pattern_recording(recorded, true), "");
  EXPECT_EQ(numbers_of(recorded).front(), 0);
  EXPECT_EQ(
      told("cam: sends " + GetParam().sends + ": encoded as h264 (set `encode: {codec: copy}` to keep it as it comes)"),
      1U)
      << rig_->log();
  EXPECT_EQ(told("cam: changed") + told("cam: added"), 0U) << rig_->log();
}

INSTANTIATE_TEST_SUITE_P(Files, OtherStream,
                         testing::Values(Other{"Hevc",
                                               {.name = "a.mp4", .encoder = "libx265", .frames = 50, .b_frames = 2},
                                               "hevc, which browsers do not play"},
                                         Other{"TenBits",
                                               {.name = "a.mp4", .pixels = "yuv420p10le", .frames = 50},
                                               "h264 of yuv420p10le, which browsers do not play"},
                                         Other{"Untimed",
                                               {.name = "a.avi", .frames = 50, .b_frames = 2},
                                               "h264 with B-frames and without their times"},
                                         Other{
                                             "Mjpeg",
                                             {.name = "a.mkv", .encoder = "mjpeg", .pixels = "yuvj420p", .frames = 50},
                                             "mjpeg, which browsers do not play"}),
                         [](const auto& one) { return one.param.title; });

// A reload in which nothing of it is changed, a change of another camera and a new master leave it alone.
TEST_F(OwnStream, ThatIsEncodedStaysSoUntilItsConfigurationChanges) {
  if (!can_encode("libx265")) GTEST_SKIP();
  const std::string other = camera("pattern", "test://pattern?width=160&height=120&rate=25");
  const std::string hevc = clip({.name = "a.mp4", .encoder = "libx265", .frames = 50});
  begin(other + camera("cam", hevc, "    loop: true\n"));
  ASSERT_NO_FATAL_FAILURE(wait_for_more("cam.mp4"));
  reload(other + camera("new", "test://pattern?width=160&height=120") + camera("cam", hevc, "    loop: true\n"));
  ASSERT_NO_FATAL_FAILURE(wait_for_log("new: added"));
  const pid_t master = rig_->pid_of("master");
  ::kill(master, SIGKILL);
  rig_->successor_of("master", master);
  ASSERT_NO_FATAL_FAILURE(wait_for_more("cam.mp4"));
  EXPECT_EQ(told("cam: sends"), 1U) << rig_->log();
  EXPECT_EQ(told("cam: changed"), 0U) << rig_->log();
  reload(other + camera("cam", clip(plain), "    loop: true\n"));
  ASSERT_NO_FATAL_FAILURE(wait_for_log("cam: h264 is passed on as it comes"));
  ASSERT_NO_FATAL_FAILURE(wait_for_more("cam-1.mp4"));
  EXPECT_EQ(end().at("cameras").at("cam").at("encoder"), "copy");
}

TEST_F(OwnStream, IsAskedForAndShownByTheApi) {
  if (!can_encode("libx265")) GTEST_SKIP();
  const int port = free_port();
  const std::string hevc = clip({.name = "a.mp4", .encoder = "libx265", .frames = 50});
  begin(camera("pattern", "test://pattern?width=160&height=120"),
        "http_address: \"127.0.0.1:" + std::to_string(port) + "\"\nrtsp_address: off\nworkers: {count: 1}\n");
  const auto token = [&] { return read_text(rig_->folder() / "state" / ("token-" + std::to_string(port))); };
  ASSERT_TRUE(eventually([&] { return !token().empty(); })) << rig_->log();
  const auto put = [&](const std::string& source) {
    const std::string body =
        R"({"config": {"source": ")" + source + R"(", "loop": true, "encode": {"codec": "auto"}}})";
    return ask(static_cast<std::uint16_t>(port), "PUT /api/v1/cameras/cam",
               "Authorization: Bearer " + token() + "\r\nContent-Type: application/json\r\n", body)
        .status;
  };
  const auto codec = [&] {
    const Reply reply = ask(static_cast<std::uint16_t>(port), "GET /api/v1/cameras/cam");
    if (reply.status != 200) return std::string();
    const auto cam = nlohmann::json::parse(reply.body);
    return cam.value("fps", 0.0) > 0 ? cam.at("codec").get<std::string>() + " by " + cam.value("encoder", "") : "";
  };
  EXPECT_EQ(put(clip(plain)), 201);
  EXPECT_TRUE(eventually([&] { return codec() == "h264 by copy"; })) << rig_->log();
  EXPECT_EQ(put(hevc), 200);
  EXPECT_TRUE(eventually([&] { return codec() == "h264 by libx264"; })) << rig_->log();
  EXPECT_EQ(put(hevc), 200);  // is no change
  EXPECT_EQ(told("cam: sends hevc"), 1U) << rig_->log();
  end();
}

TEST_F(OwnStream, HasNoCodecBeforeItsCameraIsReached) {
  const int port = free_port();
  begin(camera("cam", "rtsp://127.0.0.1:" + std::to_string(free_port()) + "/none"),
        "http_address: \"127.0.0.1:" + std::to_string(port) + "\"\nrtsp_address: off\nworkers: {count: 1}\n");
  const auto token = [&] { return read_text(rig_->folder() / "state" / ("token-" + std::to_string(port))); };
  ASSERT_TRUE(eventually([&] { return !token().empty(); })) << rig_->log();
  nlohmann::json cam;
  ASSERT_TRUE(eventually([&] {
    const Reply reply = ask(static_cast<std::uint16_t>(port), "GET /api/v1/cameras/cam");
    if (reply.status == 200) cam = nlohmann::json::parse(reply.body);
    return cam.value("state", "") == "waiting";
  })) << rig_->log();
  EXPECT_EQ(cam.at("codec"), "");
  EXPECT_EQ(cam.at("width"), 0);
}

class OwnStreamOfCamera : public OwnStream {
 protected:
  void SetUp() override {
    if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  }
  static std::string keys() {
    return "    rtsp_transport: tcp\n    read_timeout: 3s\n    retry_interval: 100ms\n    retry_max: 500ms\n";
  }
};

TEST_F(OwnStreamOfCamera, IsEncodedOfMotionJpeg) {
  const TestCamera jpegs({"--codec", "mjpeg"});
  begin(camera("cam", jpegs.url(), keys()));
  ASSERT_NO_FATAL_FAILURE(wait_for_more("cam.mp4"));
  EXPECT_EQ(told("cam: sends mjpeg"), 1U) << rig_->log();
  const auto report = end().at("cameras").at("cam");
  EXPECT_EQ(report.at("encoder"), "libx264");
  EXPECT_EQ(report.at("frames").at("dropped").size(), 0U) << report.dump(2);
}

// It is encoded from then on, also when it sends H.264 again.
TEST_F(OwnStreamOfCamera, ThatChangesWhileItWasAwayIsEncoded) {
  const int port = free_port();
  auto cam = std::make_unique<TestCamera>(std::vector<std::string>(), port);
  begin(camera("cam", cam->url(), keys()));
  ASSERT_NO_FATAL_FAILURE(wait_for_more("cam.mp4"));
  cam.reset();
  cam = std::make_unique<TestCamera>(std::vector<std::string>{"--codec", "h265"}, port);
  ASSERT_NO_FATAL_FAILURE(wait_for_log("cam: sends hevc"));
  ASSERT_NO_FATAL_FAILURE(wait_for_more("cam-1.mp4"));
  cam.reset();
  cam = std::make_unique<TestCamera>(std::vector<std::string>(), port);
  ASSERT_NO_FATAL_FAILURE(wait_for_log("cam: delivers again"));
  EXPECT_EQ(told("cam: h264 is passed on as it comes"), 1U) << rig_->log();
  EXPECT_EQ(told("cam: sends hevc"), 1U) << rig_->log();
  EXPECT_EQ(end().at("cameras").at("cam").at("encoder"), "libx264");
}

TEST_F(OwnStream, IsToldByCheck) {
  const std::string yaml = std::string(quiet) + "cameras:\n" + camera("plain", clip(plain)) +
                           camera("deep", clip({.name = "b.mp4", .pixels = "yuv420p10le"})) +
                           camera("made", clip(plain), "    rate: 5\n") + camera("far", "rtsp://127.0.0.1:1/x");
  std::ofstream(clips_.path() / "rig.yaml") << yaml;
  const Answer answer = ask({"--config", (clips_.path() / "rig.yaml").string(), "--check"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("h264, 320x240, 25 fps; h264 is passed on as it comes\n"));
  EXPECT_THAT(answer.output, HasSubstr("h264, 320x240, 25 fps; sends h264 of yuv420p10le, which browsers do not play: "
                                       "encoded as h264 (set `encode: {codec: copy}` to keep it as it comes)\n"));
  EXPECT_THAT(answer.output, HasSubstr("h264, 320x240, 25 fps; encoded as h264\n"));
  EXPECT_THAT(answer.output, HasSubstr("(not tried); H.264 that plays everywhere is passed on as it comes, anything "
                                       "else encoded as h264\n"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
