// Cameras that are odd, in a whole rig: one that refuses its sound, and one that has nothing but a picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/coded_units.h"
#include "tests/unit/peers.h"
#include "tests/unit/rtp_camera.h"
#include "tests/unit/rtsp_camera.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

void run_ffmpeg(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-y"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ASSERT_EQ(Program(command).wait(), 0);
}

// Annex B, without B-frames.
std::string h264_of(int frames, const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "small.h264";
  std::vector<std::string> arguments{"-f", "lavfi", "-i", "testsrc2=size=160x128:rate=25", "-frames:v"};
  arguments.insert(arguments.end(), {std::to_string(frames), "-c:v", "libx264", "-preset", "ultrafast"});
  arguments.insert(arguments.end(), {"-threads", "1", "-pix_fmt", "yuv420p"});
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(file);
  run_ffmpeg(arguments);
  return read_text(file);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// They go in messages between processes, and would be taken for those of a process that is out of its mind.
TEST(OddCameras, LargeParameterSetsCostNobodyElseAFrame) {
  const RtpCamera fat({video_media("H264")}, [](RtpLine& line) {
    const std::vector<CodedUnit> units = coded_units({.count = 60, .gop = 10});
    for (std::size_t i = 0; i < units.size(); ++i) {
      std::vector<std::string> payloads = rtp_payloads("libx264", units[i].data);
      for (std::size_t k = 0; k < payloads.size(); ++k) {
        const int type = payloads[k].front() & 31;
        if (type == 7 || type == 8) payloads[k] += std::string(25'000, '\x55');
        if (!line.packet(0, payloads[k], static_cast<std::uint32_t>(i * 9000), k + 1 == payloads.size())) return;
      }
    }
    line.wait_for_end();
  });
  RigRun rig("http_address: off\nrtsp_address: off\ncameras:\n  fat: {source: \"" + fat.url() +
             "\", rtsp_transport: tcp, retry_interval: 100ms, retry_max: 100ms, encode: {codec: copy}, record: {path: "
             "fat.mp4}}\n"
             "  good: {source: \"test://pattern?width=160&height=120&rate=25\", record: {path: good.mp4}}\n");
  EXPECT_TRUE(eventually([&] { return count(rig.log(), "has a codec header (parameter sets) of 5") >= 1; }))
      << rig.log();
  EXPECT_TRUE(rig.wait_for_growth("good.mp4", rig.size("good.mp4") + 20'000)) << rig.log();
  rig.signal(SIGTERM);
  rig.wait();
  EXPECT_EQ(rig.report().at("source_restarts"), 0) << rig.log();
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("good.mp4")), true), "") << rig.log();
  EXPECT_EQ(count(rig.log(), "is ended"), 0) << rig.log();
}

TEST(OddCameras, AreRecorded) {
  RtspCamera silent({.h264 = h264_of(50, {"-g", "10"}),
                     .more = "m=audio 0 RTP/AVP 0\r\na=control:back\r\na=sendonly\r\n",
                     .frames = 50,
                     .refusal = [](const std::string& request) {
                       return request.starts_with("SETUP") && request.find("/back ") != std::string::npos
                                  ? "500 Internal Server Error"
                                  : "";
                     }});
  // A camera that others watch already is joined in the midst of a group of pictures: what FFmpeg would make up for
  // frames that never came is none of its frames.
  const auto joined = [](const std::string& encoder) {
    return [encoder](RtpLine& line) {
      const std::vector<CodedUnit> units = coded_units({.encoder = encoder, .count = 60, .gop = 20});
      for (std::size_t i = 5; i < units.size(); ++i) {
        if (!line.frame(0, rtp_payloads(encoder, units[i].data), static_cast<std::uint32_t>(i * 9000))) return;
      }
      line.wait_for_end();
    };
  };
  const RtpCamera joined_h264({video_media(rtp_name("libx264"))}, joined("libx264"));
  const RtpCamera joined_h265({video_media(rtp_name("libx265"))}, joined("libx265"));
  const TemporaryFolder folder;
  run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=320x240", "-frames:v", "1", folder.path() / "picture.jpg"});
  const std::string jpeg = read_text(folder.path() / "picture.jpg");
  const Server picture(
      answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: image/jpeg\r\nContent-Length: " +
                std::to_string(jpeg.size()) + "\r\n\r\n" + jpeg));
  RigRun rig("defaults: {rtsp_transport: tcp, record: {path: \"{camera}.mp4\"}}\ncameras:\n  silent: {source: \"" +
             silent.url() + "\", retry_interval: 100ms}\n  h264: {source: \"" + joined_h264.url() +
             "\", encode: {codec: h264}}\n  h265: {source: \"" + joined_h265.url() +
             "\", encode: {codec: h264}}\n  picture: {source: \"http://127.0.0.1:" + std::to_string(picture.port()) +
             "/snapshot.jpg\", capture: {rate: 5}}\n");
  constexpr int asked = 12;  // pictures
  EXPECT_TRUE(eventually([&] { return silent.connections() >= 3; })) << rig.log();
  EXPECT_TRUE(eventually([&] { return picture.connections() >= asked; })) << rig.log();
  for (const char* file : {"h264.mp4", "h265.mp4"})
    EXPECT_TRUE(eventually([&] { return rig.size(file) > 1000; })) << file << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();

  EXPECT_EQ(count(rig.log(), "is used without its audio (PCMU): it answers SETUP of that with 500"), 1) << rig.log();
  EXPECT_EQ(rig.log().find("picture: away"), std::string::npos) << rig.log();
  const auto recorded = [&](const std::string& name) {
    const auto frames = rig.camera(name).at("frames").at("recorded").get<std::size_t>();
    EXPECT_EQ(read_video(rig.file(name + ".mp4")).pictures.size(), frames) << name << rig.log();
    return frames;
  };
  EXPECT_GE(recorded("silent"), 50U) << rig.log();
  EXPECT_EQ(recorded("h264"), 40U) << rig.log();
  EXPECT_EQ(recorded("h265"), 40U) << rig.log();
  constexpr std::size_t to_open = 3;
  constexpr std::size_t under_way = 1;  // when the rig ends
  EXPECT_GE(recorded("picture"), asked - to_open - under_way) << rig.log();
}

// Its frames come, and nothing can be made of them: that is said where people look, and it comes by itself.
TEST(OddCameras, WithoutAKeyFrameIsAway) {
  constexpr int before = 390;  // more than 15 s
  constexpr int behind = 60;
  RtspCamera camera({.h264 = h264_of(before + 1, {"-g", "1000", "-bsf:v", "filter_units=remove_types=5"}) +
                             h264_of(behind, {"-g", "1000"}),
                     .frames = before + behind});
  RigRun rig("cameras:\n  dock:\n    source: \"" + camera.url() +
             "\"\n    rtsp_transport: tcp\n    record: {path: dock.mp4}\n");
  const auto says = [&](const char* text) { return rig.log().find(text) != std::string::npos; };
  EXPECT_TRUE(eventually([&] { return says("dock: away: it has sent frames for 15 s, and no key frame"); }))
      << rig.log();
  EXPECT_TRUE(eventually([&] { return says("dock: delivers again"); })) << rig.log();
  EXPECT_TRUE(eventually([&] { return camera.connections() >= 2; })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  const nlohmann::json dock = rig.camera("dock");
  EXPECT_EQ(dock.at("frames").at("recorded"), behind) << rig.log();
  EXPECT_EQ(read_video(rig.file("dock.mp4")).pictures.size(), std::size_t{behind}) << rig.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
