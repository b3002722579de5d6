// Cameras of a low priority give way where a worker has too much to do, and come back by themselves. What they leave
// out is counted, whoever is killed meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;

// 25 frames a second of each. `gate` is late as long as the failpoint has its thread wait; `low` has time, and gives
// way all the same.
std::string rig_with(int low_priority) {
  return "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {gpu: cpu, drop_policy: "
         "drop}\ncameras:\n"
         "  gate: {source: \"test://pattern?width=160&height=120&rate=25\", priority: 90}\n"
         "  low: {source: \"test://pattern?width=320&height=240&rate=25\", record: {path: low.mp4}, "
         "encode: {codec: h264, gop: 200ms}, priority: " +
         std::to_string(low_priority) + "}\n";
}

std::string waits(int times) {
  std::string failpoints;
  for (int i = 0; i < times; ++i) {
    failpoints += (i > 0 ? "," : "") + std::string("stage.frame@gate:") + std::to_string(30 + i) + "=wait4";
  }
  return failpoints;
}

bool logs(const RigRun& rig, const std::string& text) {
  return eventually([&] { return rig.log().find(text) != std::string::npos; });
}

std::uint64_t shed_of(const RigRun& rig, const std::string& camera) {
  return rig.camera(camera).at("frames").at("dropped").value("shed", std::uint64_t{0});
}

// A file that is looped goes round meanwhile at its pace, and its copy goes on.
TEST(Priorities, StepByStepUntilNothingIsDecoded) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "short.mp4", .frames = 20, .b_frames = 2});
  const std::string clip = "\"" + (clips.path() / "short.mp4").string() + "\"";
  RigRun rig(rig_with(10) + "  looped: {source: " + clip + ", loop: true, priority: 10, encode: {codec: h264}}\n" +
                 "  copied: {source: " + clip +
                 ", loop: true, priority: 10, encode: {codec: copy}, record: {path: copied.mp4}, outputs: {small: "
                 "{encode: {codec: h264}}}}\n",
             {.failpoints = waits(14)});
  for (const std::string name : {"low", "looped", "copied"}) {
    ASSERT_TRUE(logs(rig, name + ": gives way, its priority is 10: gate is late; nothing is decoded")) << rig.log();
  }
  EXPECT_GT(rig.size("low-1.mp4"), 0U) << "of half the size: another file";
  const pid_t master = rig.pid_of("master");
  ::kill(master, SIGKILL);
  rig.successor_of("master", master);
  const auto size = rig.size("copied.mp4");
  ASSERT_TRUE(rig.wait_for_growth("copied.mp4", size + 20'000)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_GT(shed_of(rig, "low"), 60U) << rig.log();
  const VideoFile small = read_video(rig.file("low-1.mp4"));
  EXPECT_EQ(small.width, 160);
  EXPECT_EQ(small.height, 120);
  EXPECT_EQ(read_video(rig.file("low.mp4")).width, 320);
  EXPECT_EQ(rig.camera("looped").value("reason", ""), "") << rig.log();
  const auto frames = rig.camera("looped").at("frames").at("decoded").get<double>();
  EXPECT_LT(frames, 30 * rig.report().at("duration_s").get<double>()) << "not at its pace";
  const VideoFile copied = read_video(rig.file("copied.mp4"));
  for (std::size_t i = 0; i + 3 < copied.pictures.size(); ++i) {
    ASSERT_EQ(numbers_of(copied)[i], static_cast<std::int64_t>(i % 20)) << i;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
