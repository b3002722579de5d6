// Cameras that are odd, in a whole rig: one that refuses its sound, and one that has nothing but a picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/peers.h"
#include "tests/unit/rtsp_camera.h"

namespace campipe::test {
namespace {

void run_ffmpeg(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-y"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ASSERT_EQ(Program(command).wait(), 0);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(OddCameras, ARefusedSoundIsToldOnceAndTheVideoIsRecorded) {
  const TemporaryFolder folder;
  run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=160x128:rate=25:duration=2", "-c:v", "libx264", "-preset",
              "ultrafast", "-threads", "1", "-g", "10", "-pix_fmt", "yuv420p", folder.path() / "small.h264"});
  RtspCamera camera({.h264 = read_text(folder.path() / "small.h264"),
                     .more = "m=audio 0 RTP/AVP 0\r\na=control:back\r\na=sendonly\r\n",
                     .frames = 50,
                     .refusal = [](const std::string& request) {
                       return request.starts_with("SETUP") && request.find("/back ") != std::string::npos
                                  ? "500 Internal Server Error"
                                  : "";
                     }});
  RigRun rig("cameras:\n  dock:\n    source: \"" + camera.url() +
             "\"\n    rtsp_transport: tcp\n    retry_interval: 100ms\n    record: {path: dock.mp4}\n");
  EXPECT_TRUE(eventually([&] { return camera.connections() >= 3; })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(count(rig.log(), "is used without its audio (PCMU): it answers SETUP of that with 500"), 1) << rig.log();
  const auto recorded = rig.camera("dock").at("frames").at("recorded").get<std::size_t>();
  EXPECT_GE(recorded, 50U) << rig.log();
  EXPECT_EQ(read_video(rig.file("dock.mp4")).pictures.size(), recorded) << rig.log();
}

TEST(OddCameras, APictureIsFetchedAgainAndAgain) {
  const TemporaryFolder folder;
  run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=320x240", "-frames:v", "1", folder.path() / "picture.jpg"});
  const std::string picture = read_text(folder.path() / "picture.jpg");
  const Server server(answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: image/jpeg\r\nContent-Length: " +
                                std::to_string(picture.size()) + "\r\n\r\n" + picture));
  RigRun rig("cameras:\n  dock:\n    source: \"http://127.0.0.1:" + std::to_string(server.port()) +
             "/snapshot.jpg\"\n    capture: {rate: 5}\n    record: {path: dock.mp4}\n");
  EXPECT_TRUE(eventually([&] { return server.connections() >= 12; })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.log().find("away"), std::string::npos) << rig.log();
  const auto recorded = rig.camera("dock").at("frames").at("recorded").get<std::size_t>();
  EXPECT_GE(recorded, 9U) << rig.log();
  EXPECT_EQ(read_video(rig.file("dock.mp4")).pictures.size(), recorded) << rig.log();
}

}  // namespace
}  // namespace campipe::test
