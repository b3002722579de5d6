// Cameras that speak RTSP, and fail: tools/testcam (GStreamer's RTSP server) and the real program. Beside each runs a
// test pattern, which must never suffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>

#include "core/clock.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/integration/times_in.h"
#include "tests/paths.h"
#include "tests/unit/command_output.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* recording = "cam.mp4";
constexpr std::uintmax_t some = 15'000;  // bytes of a recording: a second or less

// What ffprobe says of a file.
json probe(const std::filesystem::path& file) {
  return json::parse(output_of("ffprobe -v error -show_streams -show_packets -of json '" + file.string() + "'"));
}

struct Track {
  json stream;
  std::vector<std::int64_t> dts;
  double seconds = 0;
};

Track track_of(const json& probed, const std::string& kind) {
  Track track;
  for (const json& stream : probed.at("streams")) {
    if (stream.at("codec_type") != kind) continue;
    track.stream = stream;
    track.seconds = std::stod(stream.value("duration", "0"));
  }
  for (const json& packet : probed.at("packets")) {
    if (packet.at("codec_type") == kind) track.dts.push_back(packet.at("dts"));
  }
  return track;
}

void expect_growing(const std::vector<std::int64_t>& times) {
  for (std::size_t i = 1; i < times.size(); ++i) ASSERT_GT(times[i], times[i - 1]) << "packet " << i;
}

class Rtsp : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = TestCamera::missing(); !reason.empty()) GTEST_SKIP() << reason;
  }

  // `keys`: of `cam`, lines.
  void begin(const std::string& url, const std::string& keys = "    rtsp_transport: tcp\n") {
    rig_ = std::make_unique<RigRun>(
        "defaults:\n"
        "  read_timeout: 3s\n  retry_interval: 100ms\n  retry_max: 500ms\n"
        "  encode: {gop: 10, bitrate: 1M}\n"
        "workers: {count: 2}\n"
        "cameras:\n"
        "  cam:\n    source: \"" +
        url + "\"\n    record: {path: " + recording + "}\n" + keys +
        "  steady: {source: \"test://pattern?width=160&height=120&rate=25\", record: {path: steady.mp4}}\n");
  }

  void wait_for_more() { ASSERT_TRUE(rig_->wait_for_growth(recording, rig_->size(recording) + some)) << rig_->log(); }
  [[nodiscard]] std::size_t times_in_log(const std::string& text) const { return times_in(rig_->log(), text); }
  void wait_for_log(const std::string& text, std::size_t times = 1) {
    ASSERT_TRUE(eventually([&] { return times_in_log(text) >= times; })) << text << " is not in\n" << rig_->log();
  }

  // Returns the report on `cam`.
  json end(int status = 0) {
    rig_->signal(SIGTERM);
    EXPECT_EQ(rig_->wait(), status) << rig_->log();
    const json report = rig_->report();
    EXPECT_EQ(check_accounting(report), "");
    EXPECT_TRUE(report.at("cameras").at("steady").at("frames").at("dropped").empty()) << report.dump(2) << rig_->log();
    EXPECT_EQ(check_pattern_recording(read_video(rig_->file("steady.mp4")), true), "");
    EXPECT_EQ(report.at("master_restarts"), 0);
    return report.at("cameras").at("cam");
  }

  [[nodiscard]] int recordings() const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(rig_->folder())) {
      const std::string name = entry.path().filename();
      files += name.starts_with("cam") && name.ends_with(".mp4") ? 1 : 0;
    }
    return files;
  }

  Track expect_good(const std::string& file) {
    const VideoFile video = read_video(rig_->file(file));
    EXPECT_EQ(video.complaints, 0) << video.text;
    EXPECT_GT(video.pictures.size(), 10U);
    const Track track = track_of(probe(rig_->file(file)), "video");
    expect_growing(track.dts);
    return track;
  }

  // One file, from the beginning to the end.
  Track expect_good_recording() {
    EXPECT_EQ(recordings(), 1) << rig_->log();
    return expect_good(recording);
  }

  std::unique_ptr<RigRun> rig_;
};

struct Way {
  std::string title;
  std::string camera;  // what it offers
  std::string rig;     // what it is asked for
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.title; }

class RtspOver : public Rtsp, public testing::WithParamInterface<Way> {};

TEST_P(RtspOver, DeliversAndRecords) {
  const TestCamera camera({"--transport", GetParam().camera});
  begin(camera.url(), "    rtsp_transport: " + GetParam().rig + "\n");
  wait_for_more();
  const json cam = end();
  EXPECT_EQ(cam.at("state"), "ended");
  EXPECT_EQ(cam.at("decoder"), "h264");
  EXPECT_EQ(cam.at("reconnects"), 0);
  EXPECT_EQ(cam.at("frames").at("recorded"), cam.at("frames").at("encoded"));
  if (GetParam().camera == "tcp") {  // on a busy machine UDP may lose some
    EXPECT_EQ(cam.at("source").at("corrupt_packets"), 0);
  }
  EXPECT_EQ(times_in_log("away"), 0U) << rig_->log();
  const Track video = expect_good_recording();
  EXPECT_EQ(video.dts.size(), cam.at("frames").at("recorded").get<std::size_t>());
  EXPECT_EQ(video.stream.at("width"), 320);
}

INSTANTIATE_TEST_SUITE_P(Transports, RtspOver,
                         testing::Values(Way{"Tcp", "tcp", "tcp"}, Way{"Udp", "udp", "udp"},
                                         Way{"UdpByItself", "udp", "automatic"},
                                         Way{"TcpByItself", "tcp", "automatic"}),
                         [](const auto& way) { return way.param.title; });

class RtspCodec : public Rtsp, public testing::WithParamInterface<std::pair<std::string, std::string>> {};

TEST_P(RtspCodec, IsDecoded) {
  const TestCamera camera({"--codec", GetParam().first});
  begin(camera.url());
  wait_for_more();
  EXPECT_EQ(end().at("decoder"), GetParam().second);
  EXPECT_EQ(expect_good_recording().stream.at("codec_name"), "h264");
}

INSTANTIATE_TEST_SUITE_P(Codecs, RtspCodec, testing::Values(std::pair{"h265", "hevc"}, std::pair{"mjpeg", "mjpeg"}),
                         [](const auto& codec) { return codec.param.first; });

class RtspPassword : public Rtsp, public testing::WithParamInterface<std::string> {
 protected:
  const std::vector<std::string> options_{"--user", "ada", "--password", "love1ace", "--" + GetParam()};
};

TEST_P(RtspPassword, IsTakenAndNeverShown) {
  const TestCamera camera(options_);
  begin(camera.url("ada:love1ace@"));
  wait_for_more();
  EXPECT_EQ(end().at("reconnects"), 0);
  EXPECT_THAT(rig_->log() + rig_->report().dump(), Not(HasSubstr("love1ace")));
}

TEST_P(RtspPassword, ThatIsWrongIsToldOnceAndNotHammered) {
  const TestCamera camera(options_);
  begin(camera.url("ada:wr0ng@"), "    rtsp_transport: tcp\n    retry_max: 3s\n");
  wait_for_log("cam: away");
  const auto since = Clock::now();
  const int before = camera.connections();
  ASSERT_TRUE(eventually([&] { return camera.connections() >= before + 2; })) << rig_->log();
  // Between the two lies a wait of at least three quarters of retry_max.
  EXPECT_GE(Clock::now() - since, std::chrono::milliseconds(2250));
  const json cam = end(3);
  EXPECT_EQ(cam.at("state"), "failed");
  EXPECT_THAT(cam.at("reason").get<std::string>(), HasSubstr("password"));
  EXPECT_EQ(times_in_log("cam: away"), 1U) << rig_->log();
  EXPECT_THAT(rig_->log() + rig_->report().dump(), Not(HasSubstr("wr0ng")));
}

INSTANTIATE_TEST_SUITE_P(Methods, RtspPassword, testing::Values("basic", "digest"),
                         [](const auto& method) { return method.param; });

TEST_F(Rtsp, ACameraMayComeLater) {
  const int port = free_port();
  begin("rtsp://127.0.0.1:" + std::to_string(port) + "/cam");
  wait_for_log("cam: away");
  EXPECT_THAT(rig_->log(), HasSubstr("refuses the connection"));
  const TestCamera camera({}, port);
  wait_for_more();
  EXPECT_EQ(end().at("state"), "ended");
  EXPECT_EQ(times_in_log("cam: away"), 1U) << rig_->log();
  expect_good_recording();
}

TEST_F(Rtsp, ARestartOfTheCameraCostsTheTimeThatItTakes) {
  auto camera = std::make_unique<TestCamera>();
  const int port = camera->port();
  begin(camera->url());
  wait_for_more();
  camera->kill();
  wait_for_log("cam: away");
  camera = std::make_unique<TestCamera>(std::vector<std::string>{}, port);
  wait_for_log("cam: delivers again");
  wait_for_more();
  const json cam = end();
  EXPECT_EQ(cam.at("state"), "ended");
  EXPECT_GE(cam.at("reconnects"), 1);
  EXPECT_EQ(times_in_log("cam: delivers again"), 1U);
  const Track video = expect_good_recording();
  // The gap stays a gap, so that the recording tells when what was. No camera starts sooner than that.
  EXPECT_GT(video.seconds, static_cast<double>(video.dts.size()) / 25 + 0.1);
}

class RtspCut : public Rtsp, public testing::WithParamInterface<std::string> {};

TEST_P(RtspCut, IsMendedByAReconnection) {
  TestCamera camera;
  begin(camera.url());
  for (std::size_t times = 1; times <= 3; ++times) {
    wait_for_more();
    camera.command(GetParam());
    wait_for_log("cam: delivers again", times);
  }
  wait_for_more();
  EXPECT_EQ(end().at("reconnects"), 3);
  EXPECT_EQ(times_in_log("cam: away"), 3U) << rig_->log();
  expect_good_recording();
}

INSTANTIATE_TEST_SUITE_P(Kinds, RtspCut, testing::Values("drop", "reset"), [](const auto& kind) { return kind.param; });

class RtspStall : public Rtsp, public testing::WithParamInterface<std::string> {};

TEST_P(RtspStall, EndsInAReconnection) {
  TestCamera camera;
  begin(camera.url(), "    rtsp_transport: " + GetParam() + "\n    read_timeout: 1500ms\n");
  wait_for_more();
  camera.command("stall");
  wait_for_log("has sent no video for 1.5 s (read_timeout)");
  camera.command("go");
  wait_for_more();
  EXPECT_GE(end().at("reconnects"), 1);
  expect_good_recording();
}

INSTANTIATE_TEST_SUITE_P(Transports, RtspStall, testing::Values("tcp", "udp"),
                         [](const auto& transport) { return transport.param; });

TEST_F(Rtsp, AShortStallIsWaitedFor) {
  TestCamera camera;
  begin(camera.url(), "    rtsp_transport: tcp\n    read_timeout: 30s\n");
  wait_for_more();
  camera.command("stall");
  ASSERT_TRUE(rig_->wait_for_growth("steady.mp4", rig_->size("steady.mp4") + some));
  camera.command("go");
  wait_for_more();
  EXPECT_EQ(end().at("reconnects"), 0);
  expect_good_recording();
}

TEST_F(Rtsp, ANewPictureSizeGoesOnAtTheSizeThatIsConfigured) {
  TestCamera camera;
  begin(camera.url(), "    rtsp_transport: tcp\n    filters: [{resize: {width: 160, height: 120}}]\n");
  wait_for_more();
  camera.command("resize 640x480");
  wait_for_log("640x480");
  wait_for_more();
  EXPECT_EQ(end().at("reconnects"), 0);
  EXPECT_EQ(expect_good_recording().stream.at("width"), 160);
}

TEST_F(Rtsp, ANewPictureSizeWithNoneConfiguredBeginsAnotherFile) {
  TestCamera camera;
  begin(camera.url());
  wait_for_more();
  camera.command("resize 640x360");
  ASSERT_TRUE(rig_->wait_for_growth("cam-1.mp4", some)) << rig_->log();
  EXPECT_EQ(end().at("reconnects"), 0);
  EXPECT_EQ(recordings(), 2);
  EXPECT_EQ(expect_good(recording).stream.at("width"), 320);
  EXPECT_EQ(expect_good("cam-1.mp4").stream.at("width"), 640);
}

TEST_F(Rtsp, AClockThatJumpsIsMendedAndCounted) {
  TestCamera camera;
  begin(camera.url());
  wait_for_more();
  for (const char* jump : {"clock 3600", "clock -30", "clock 5", "clock -2"}) {
    camera.command(jump);
    wait_for_more();
  }
  const json cam = end();
  EXPECT_EQ(cam.at("reconnects"), 0);
  const json& mended = cam.at("source").at("timestamps_corrected");
  EXPECT_EQ(mended.at("jumped"), 2) << mended.dump();
  EXPECT_EQ(mended.at("backwards"), 2) << mended.dump();
  const Track video = expect_good_recording();
  EXPECT_NEAR(video.seconds, static_cast<double>(video.dts.size()) / 25, 2);
}

TEST_F(Rtsp, SoundIsRecordedBesideThePictures) {
  const TestCamera camera({"--audio"});
  begin(camera.url());
  for (int times = 0; times < 3; ++times) wait_for_more();
  end();
  const Track video = expect_good_recording();
  const Track audio = track_of(probe(rig_->file(recording)), "audio");
  ASSERT_FALSE(audio.stream.is_null());
  EXPECT_EQ(audio.stream.at("codec_name"), "aac");
  expect_growing(audio.dts);
  EXPECT_NEAR(audio.seconds, video.seconds, 0.5);
}

TEST_F(Rtsp, SoundGoesOnAfterAClockThatJumps) {
  TestCamera camera({"--audio"});
  begin(camera.url());
  wait_for_more();
  for (const char* jump : {"clock 3600", "clock -3600"}) {
    camera.command(jump);
    for (int times = 0; times < 3; ++times) wait_for_more();
  }
  end();
  const Track video = expect_good_recording();
  const Track audio = track_of(probe(rig_->file(recording)), "audio");
  expect_growing(audio.dts);
  EXPECT_NEAR(audio.seconds, video.seconds, 0.5) << rig_->log();
}

TEST_F(Rtsp, WhatIsCopiedIsNotDecoded) {
  const TestCamera camera({"--codec", "h265", "--audio"});
  begin(camera.url(), "    rtsp_transport: tcp\n    encode: {codec: copy}\n");
  wait_for_more();
  const json cam = end();
  EXPECT_THAT(cam.value("decoder", ""), testing::AnyOf("", "copy"));
  const Track video = expect_good_recording();
  EXPECT_EQ(video.stream.at("codec_name"), "hevc");
  EXPECT_EQ(video.dts.size(), cam.at("frames").at("recorded").get<std::size_t>());
  EXPECT_FALSE(track_of(probe(rig_->file(recording)), "audio").stream.is_null());
}

TEST_F(Rtsp, WhatIsCopiedGoesOnAfterARestartOfTheCamera) {
  auto camera = std::make_unique<TestCamera>();
  const int port = camera->port();
  begin(camera->url(), "    rtsp_transport: tcp\n    encode: {codec: copy}\n");
  wait_for_more();
  camera->kill();
  wait_for_log("cam: away");
  camera = std::make_unique<TestCamera>(std::vector<std::string>{}, port);
  wait_for_more();
  EXPECT_GE(end().at("reconnects"), 1);
  EXPECT_EQ(recordings(), 1) << rig_->log();
  const Track video = track_of(probe(rig_->file(recording)), "video");
  expect_growing(video.dts);
  // The frame that was on its way when the camera died may be cut off, in two packets, and is recorded as it came.
  EXPECT_GE(read_video(rig_->file(recording)).pictures.size() + 2, video.dts.size());
}

TEST_F(Rtsp, ACameraThatIsAwayAtTheEndIsToldAsSuch) {
  TestCamera camera;
  begin(camera.url());
  wait_for_more();
  camera.kill();
  wait_for_log("refuses the connection");
  const json cam = end();
  EXPECT_EQ(cam.at("state"), "waiting");
  EXPECT_THAT(cam.at("reason").get<std::string>(), HasSubstr("refuses the connection"));
  expect_good_recording();
}

TEST(RtspExample, IsAGoodConfiguration) {
  const Answer answer = ask({"--config", std::string(source_folder) + "/configs/rtsp.yaml", "--check"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
