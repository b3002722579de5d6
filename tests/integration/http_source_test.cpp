// Sources that are files: over HTTP, where they end, and behind tools/testcam, where they go round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

void run_ffmpeg(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-y"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ASSERT_EQ(Program(command).wait(), 0);
}

TEST(HttpFile, EndsWhereItIsOverAndIsFetchedOnce) {
  const TemporaryFolder folder;
  const std::string clip = folder.path() / "clip.mp4";
  run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=160x128:rate=25:duration=2", "-c:v", "libx264", "-preset",
              "ultrafast", "-pix_fmt", "yuv420p", "-movflags", "+faststart", clip});
  const std::string body = read_text(clip);
  const Server server(answering(
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
  RigRun rig("cameras:\n  dock:\n    source: \"http://127.0.0.1:" + std::to_string(server.port()) +
             "/clip.mp4\"\n    record: {path: dock.mp4}\n");
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(rig.camera("dock").at("frames").at("decoded"), 50) << rig.log();
}

// The brightest of the newest frame's samples.
int brightest(const std::string& url, const std::filesystem::path& file) {
  run_ffmpeg({"-rtsp_transport", "tcp", "-i", url, "-map", "0:v:0", "-frames:v", "5", "-pix_fmt", "gray", "-f",
              "rawvideo", file});
  const std::string samples = read_text(file);
  int most = 0;
  for (const char sample : samples) most = std::max(most, static_cast<int>(static_cast<unsigned char>(sample)));
  return most;
}

TEST(TestCameraFile, IsShownAlsoWhereItsSoundBeginsLater) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  const std::string clip = folder.path() / "late.mp4";
  run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=4", "-itsoffset", "2", "-f", "lavfi", "-i",
              "sine=duration=2", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac",
              clip});
  const TestCamera camera({"--source", clip, "--audio"});
  constexpr int darker_than_any_picture = 60;
  EXPECT_TRUE(eventually([&] { return brightest(camera.url(), folder.path() / "luma") > darker_than_any_picture; }));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
