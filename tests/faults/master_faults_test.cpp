// A master dies again and again: no camera is connected to anew, copies and sound notice nothing, and no frame is lost,
// since its successor decodes once more what it had not handed over. Each device that decodes has one of its own, and
// so has a camera whose stream brings masters down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "tests/faults/fault_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/test_camera.h"
#include "tests/integration/times_in.h"
#include "tests/unit/peers.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;

constexpr int deaths = 2;
constexpr std::int64_t frame = 40'000'000;  // ns

// Kills it so often, each time when what it decodes is in the files again.
void kill_masters(RigRun& rig, const std::vector<std::string>& files) {
  for (const std::string& file : files) ASSERT_TRUE(rig.wait_for_growth(file, 2000)) << file << '\n' << rig.log();
  for (int death = 0; death < deaths; ++death) {
    const pid_t master = rig.pid_of("master");
    ::kill(master, SIGKILL);
    rig.successor_of("master", master);
    for (int fragment = 0; fragment < 2; ++fragment) {
      for (const std::string& file : files)
        ASSERT_TRUE(rig.wait_for_growth(file, rig.size(file))) << file << '\n' << rig.log();
    }
  }
}

void end(RigRun& rig) {
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.report().at("source_restarts"), 0);
  EXPECT_EQ(rig.report().at("master_restarts"), deaths);
}

// One frame follows the other.
void expect_no_gap(const RigRun& rig, const std::string& file) {
  const VideoFile video = read_video(rig.file(file));
  const auto times = times_of(video);
  ASSERT_GT(times.size(), 25U) << file;
  for (std::size_t i = 1; i < times.size(); ++i) {
    ASSERT_GT(times[i], times[i - 1]) << file << ' ' << i;
    ASSERT_LT(times[i] - times[i - 1], 2 * frame - frame / 4) << file << ' ' << i;
  }
}

// Of the second camera motion is looked for in the master: without one, its packets go on.
TEST(MasterDeaths, ALiveCameraStaysConnectedAndLosesNoFrame) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  TestCamera camera({"--width", "320", "--height", "240", "--gop", "20", "--audio"});
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "clip.mp4", .frames = 50});
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  live:\n    source: \"" +
             camera.url() +
             "\"\n    rtsp_transport: tcp\n    drop_policy: drop\n    queue_size: 32\n    encode: {codec: h264, gop: "
             "10}\n    record: {path: live.mp4}\n"
             "    outputs:\n      copy: {encode: {codec: copy}, record: {path: copy.mp4}}\n  file:\n    source: \"" +
             (clips.path() / "clip.mp4").string() +
             "\"\n    loop: true\n    encode: {codec: copy}\n    filters: [{motion: {}}]\n    record: {path: "
             "file.mkv}\n");
  ASSERT_TRUE(rig.wait_for_growth("live.mp4", 2000)) << rig.log();
  const int connections = camera.connections();
  ASSERT_NO_FATAL_FAILURE(kill_masters(rig, {"live.mp4", "copy.mp4", "file.mkv"}));
  EXPECT_EQ(camera.connections(), connections) << rig.log();
  ASSERT_NO_FATAL_FAILURE(end(rig));
  EXPECT_EQ(rig.log().find("away"), std::string::npos) << rig.log();
  const auto live = rig.camera("live");
  EXPECT_TRUE(live.at("frames").at("dropped").empty()) << live << rig.log();
  EXPECT_TRUE(live.at("outputs").at("copy").at("frames").at("dropped").empty()) << live;
  expect_no_gap(rig, "live.mp4");
  expect_no_gap(rig, "copy.mp4");
  EXPECT_TRUE(rig.camera("file").at("frames").at("dropped").empty()) << rig.camera("file");
  const auto numbers = numbers_of(read_video(rig.file("file.mkv")));
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<std::int64_t>(i % 50));
}

// Of a decoder that crashes: three cameras without end, of which c crashes its master with the 20th packet.
constexpr auto crashes_with_c = "ingest.packet@c:20=segv";

std::string isolating_rig(const std::string& isolation) {
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults:\n  drop_policy: block\n  queue_size: 32\n"
      "  source: \"test://pattern?width=320&height=240&rate=25\"\n  encode: {gop: 10, bitrate: 1M}\n"
      "  record: {path: \"{camera}.mp4\"}\ncameras:\n";
  for (const std::string name : {"a", "b"}) yaml += "  " + name + ": {}\n";
  return yaml + "  c: {decode: {isolation: " + isolation + "}}\n";
}

// The others' frames are all there, and c is set aside.
void expect_set_aside(RigRun& rig, std::size_t deaths_of_master, std::size_t deaths_of_its_own) {
  EXPECT_TRUE(eventually([&] { return rig.log().find("c: quarantined") != std::string::npos; })) << rig.log();
  for (const char* file : {"a.mp4", "b.mp4"}) ASSERT_TRUE(rig.wait_for_growth(file, rig.size(file))) << rig.log();
  EXPECT_FALSE(rig.find("master q0")) << "it has no camera any more";
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(times_in(rig.log(), "master died ("), deaths_of_master) << rig.log();
  EXPECT_EQ(times_in(rig.log(), "master q0 died ("), deaths_of_its_own) << rig.log();
  EXPECT_EQ(rig.camera("c").at("state"), "failed");
  EXPECT_THAT(std::string(rig.camera("c").at("reason")), testing::HasSubstr("three times"));
  EXPECT_THAT(rig.log(), testing::HasSubstr("c: goes on behind the packet at which its decoder crashed twice"));
  for (const std::string camera : {"a", "b"}) {
    EXPECT_EQ(check_pattern_recording(read_video(rig.file(camera + ".mp4")), true), "") << camera;
    EXPECT_TRUE(rig.camera(camera).at("frames").at("dropped").empty()) << rig.camera(camera);
  }
}

TEST(Quarantine, AStreamThatBringsAMasterDownIsDecodedApartFromThenOn) {
  RigRun rig(isolating_rig("auto"), RigOptions{.failpoints = crashes_with_c});
  ASSERT_NO_FATAL_FAILURE(expect_set_aside(rig, 1, 2));
  EXPECT_THAT(rig.log(), testing::HasSubstr("c: is decoded apart from now on, in master q0"));
}

// It is ended with its camera, which is no death of a process.
TEST(Quarantine, ItsMasterLivesAsLongAsItsCamera) {
  RigRun rig(isolating_rig("always"));
  for (const char* file : {"a.mp4", "b.mp4", "c.mp4"}) ASSERT_TRUE(rig.wait_for_growth(file, 2000)) << rig.log();
  const pid_t others = rig.pid_of("master");
  const pid_t own = rig.pid_of("master q0");
  ::kill(own, SIGKILL);
  rig.successor_of("master q0", own);
  ASSERT_TRUE(rig.wait_for_growth("c.mp4", rig.size("c.mp4"))) << rig.log();
  std::string without = isolating_rig("always");
  without.resize(without.find("  c:"));
  std::ofstream(rig.file("rig.yaml")) << without;
  rig.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return !rig.find("master q0"); })) << rig.log();
  EXPECT_TRUE(eventually([&] { return rig.log().find("master q0 is ended") != std::string::npos; })) << rig.log();
  EXPECT_EQ(rig.find("master"), others);
  std::ofstream(rig.file("rig.yaml")) << isolating_rig("always");
  rig.signal(SIGHUP);
  ASSERT_TRUE(rig.wait_for_growth("c-1.mp4", 2000)) << rig.log();
  static_cast<void>(rig.pid_of("master q0"));
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.report().at("master_restarts"), 1);
}

// Whose decoder is set aside. Its copy and sound go on, also in the next source; what looks at frames does not.
TEST(Quarantine, CopiesGoOnWithoutADecoder) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  TestCamera camera({"--width", "320", "--height", "240", "--gop", "20", "--audio"});
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  c:\n    source: \"" +
                 camera.url() +
                 "\"\n    rtsp_transport: tcp\n    drop_policy: block\n    encode: {codec: h264, gop: 10}\n"
                 "    record: {path: c.mp4}\n    outputs:\n"
                 "      copy: {encode: {codec: copy}, record: {path: copy.mp4}}\n"
                 "      look: {encode: {codec: copy}, filters: [motion: {}], record: {path: look.mp4}}\n",
             RigOptions{.failpoints = crashes_with_c});
  ASSERT_TRUE(eventually([&] { return rig.log().find("c: quarantined") != std::string::npos; })) << rig.log();
  const int connections = camera.connections();
  for (int fragment = 0; fragment < 4; ++fragment)
    ASSERT_TRUE(rig.wait_for_growth("copy.mp4", rig.size("copy.mp4"))) << rig.log();
  EXPECT_EQ(camera.connections(), connections);
  EXPECT_FALSE(rig.find("master"));
  EXPECT_FALSE(rig.find("master q0"));
  const pid_t source = rig.pid_of("source");
  ::kill(source, SIGKILL);
  rig.successor_of("source", source);
  for (int fragment = 0; fragment < 3; ++fragment)
    ASSERT_TRUE(rig.wait_for_growth("copy.mp4", rig.size("copy.mp4"))) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const auto report = rig.camera("c");
  EXPECT_EQ(report.at("state"), "failed") << report;
  EXPECT_EQ(report.at("outputs").at("look").at("state"), "failed") << report;
  EXPECT_EQ(report.at("outputs").at("copy").at("state"), "ended") << report;
  EXPECT_TRUE(report.at("outputs").at("copy").at("frames").at("dropped").empty()) << report;
  EXPECT_GT(sound_times(rig.file("copy.mp4")).back(), read_video(rig.file("copy.mp4")).duration_s - 1);
}

// It waited for its decoder, and its time goes on from round to round as before.
TEST(Quarantine, TheCopyOfALoopedFileGoesOn) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "clip.mp4", .frames = 25});
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  c:\n    source: \"" +
                 (clips.path() / "clip.mp4").string() +
                 "\"\n    loop: true\n    encode: {codec: h264, gop: 10}\n    record: {path: c.mp4}\n    outputs:\n"
                 "      copy: {encode: {codec: copy}, record: {path: copy.mkv}}\n",
             RigOptions{.failpoints = crashes_with_c});
  ASSERT_TRUE(eventually([&] { return rig.log().find("c: quarantined") != std::string::npos; })) << rig.log();
  const auto since = Clock::now();
  while (Clock::now() - since < milliseconds(2500))  // two rounds
    ASSERT_TRUE(rig.wait_for_growth("copy.mkv", rig.size("copy.mkv"))) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_TRUE(rig.camera("c").at("outputs").at("copy").at("frames").at("dropped").empty()) << rig.camera("c");
  const VideoFile copy = read_video(rig.file("copy.mkv"));
  const auto numbers = numbers_of(copy);
  const auto times = times_of(copy);
  ASSERT_GT(numbers.size(), 50U);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(numbers[i], static_cast<std::int64_t>(i % 25));
    ASSERT_NEAR(static_cast<double>(times[i]), static_cast<double>(i) * frame, frame / 4.0) << i;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
