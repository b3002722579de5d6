// A camera whose stages run in processes of their own: what comes out is what one node makes, and where two of the
// processes are killed, nobody else notices, and every frame is accounted for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/faults/graph_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr auto filters =
    "    filters: [{sharpen: {amount: 0.5}}, motion, {blur: {sigma: 1}}, {color: {contrast: 1.1}}]\n";

// Each way through the same frames must end in the same bytes.
TEST(Stages, MakeWhatOneNodeMakes) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "scene.mp4", .frames = 60});
  const std::string source = "    source: \"" + (clips.path() / "scene.mp4").string() +
                             "\"\n    pace: fast\n    drop_policy: block\n    encode: {threads: 1, gop: 10}\n"
                             "    record: {path: \"{camera}.mp4\"}\n" +
                             filters;
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 3}\ncameras:\n"
      "  one:\n" +
      source + "  two:\n" + source +
      "    placement: {filter: [cpu:0], encode: cpu:1}\n"
      "  many:\n" +
      source +
      "    placement: {filter: [cpu:0, cpu:1, cpu:2, cpu:0], encode: cpu:1}\n"
      "  others:\n" +
      source +
      "    placement: {filter: [cpu:2, cpu:2, cpu:1, cpu:1], encode: cpu:0}\n"
      "    outputs: {small: {filters: [{resize: {width: 160, height: 120}}], record: {path: small.mp4}}}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const auto packets = packets_of(rig.file("one.mp4"));
  ASSERT_EQ(packets.size(), 60U);
  for (const char* name : {"two", "many", "others"}) {
    EXPECT_TRUE(packets_of(rig.file(std::string(name) + ".mp4")) == packets) << name;
    const auto camera = rig.camera(name);
    EXPECT_EQ(camera.at("frames").at("dropped"), nlohmann::json::object()) << camera;
    EXPECT_EQ(camera.at("frames").at("decoded"), 60) << camera;
    EXPECT_TRUE(camera.contains("motion")) << "what a filter of an earlier node finds, comes with the frame";
    EXPECT_EQ(camera.at("motion"), rig.camera("one").at("motion")) << name;
  }
  EXPECT_EQ(packets_of(rig.file("small.mp4")).size(), 60U);
}

// The last stage bounds the rig, so that the first one waits for it, for as long as that takes for a frame.
TEST(Stages, AreNotTimedWhileTheyWait) {
  constexpr int frames = is_sanitized ? 20 : 100;
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n  cam:\n"
      "    source: \"test://pattern?width=640&height=360&rate=25&frames=" +
      std::to_string(frames) +
      "\"\n    pace: fast\n    drop_policy: block\n    queue_size: 2\n    filters: [sharpen, denoise]\n"
      "    placement: {filter: [cpu:0, cpu:1]}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto report = rig.report();
  const double each = 1000 * report.at("duration_s").get<double>() / frames;  // ms, at least what the last stage takes
  EXPECT_LT(rig.camera("cam").at("stages_ms").at("filter").at("p50").get<double>(), 1.5 * each) << report;
}

// What the first stage makes meanwhile is not for nobody: nobody has died.
TEST(Stages, WaitForTheNextOneAtFirst) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  const TestCamera camera;
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n  cam:\n    source: \"" +
                 camera.url() +
                 "\"\n    queue_size: 32\n    filters: [sharpen, sharpen]\n"
                 "    placement: {filter: [cpu:0, cpu:1]}\n    record: {path: cam.mp4}\n",
             {.failpoints = "worker.opening_ring@1=wait1"});
  ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 20'000)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.camera("cam").at("frames").at("dropped"), nlohmann::json::object()) << rig.camera("cam");
}

TEST(Stages, FollowASourceThatBeginsAgain) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "0.mp4", .width = 160, .height = 120, .frames = 25});
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n  cam:\n    source: \"" +
             (clips.path() / "0.mp4").string() +
             "\"\n    pace: fast\n    loop: true\n    filters: [{resize: {width: 320, height: 240}}]\n"
             "    placement: {filter: [cpu:0], encode: cpu:1}\n    record: {path: cam.mp4}\n");
  ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 20'000)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const VideoFile recording = read_video(rig.file("cam.mp4"));
  EXPECT_EQ(recording.width, 320);
  EXPECT_GT(recording.pictures.size(), 25U) << "it begins again at its end";
}

// Camera a is filtered by worker 0, then by worker 1, and encoded by worker 2; b is on worker 3 alone. Policy `block`:
// the source waits, so only what the dead processes had in their hands is lost.
TEST(KilledStage, CostsOnlyWhatItHadInHands) {
  constexpr int frames = 150;
  RigRun rig(graph_rig("block", 32, frames, "{filter: [cpu:0, cpu:1], encode: cpu:2}"));
  ASSERT_TRUE(wait_for_flow(rig, 2)) << rig.log();
  strike(rig, {"", {"worker 1"}});
  ASSERT_TRUE(wait_for_flow(rig, 1)) << rig.log();
  strike(rig, {"", {"worker 0"}});
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const auto camera = rig.camera("a");
  EXPECT_EQ(camera.at("frames").at("decoded"), frames) << camera;
  EXPECT_EQ(camera.at("frames").at("encoded").get<std::uint64_t>() + dropped(camera, "worker_lost"),
            std::uint64_t{frames})
      << camera;
  EXPECT_LE(dropped(camera, "worker_lost"), 100U) << camera;
  EXPECT_EQ(camera.at("worker_restarts"), 2) << camera;
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("b.mp4")), true), "");
  EXPECT_EQ(rig.camera("b").at("frames").at("recorded"), frames);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
