// A source whose frames are of another size again and again, as fast as it can be read: each change is a frame ring, an
// encoder and a packet ring, and would be a file.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>

#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

constexpr int changes = 300;

// Raw H.264: one frame of 320x240, one of 192x160, and so on.
fs::path alternating_clip(const fs::path& folder) {
  make_clip(folder, {.name = "large.h264", .width = 320, .height = 240, .frames = 1});
  make_clip(folder, {.name = "small.h264", .width = 192, .height = 160, .frames = 1});
  const std::string pair = read_text(folder / "large.h264") + read_text(folder / "small.h264");
  std::ofstream all(folder / "all.h264", std::ios::binary);
  for (int i = 0; i < changes / 2; ++i) all << pair;
  return folder / "all.h264";
}

TEST(ChangingSizes, HarmNobodyAndMakeFewFiles) {
  const TemporaryFolder folder;
  const fs::path recordings = folder.path() / "recordings";
  fs::create_directory(recordings);
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 10, bitrate: 1M}}\n"
      "cameras:\n  a: {source: " +
      alternating_clip(folder.path()).string() + ", pace: fast, record: {path: " + recordings.string() +
      "/a.mp4}}\n"
      "  b: {source: \"test://pattern?width=160&height=120&rate=25&frames=100\", record: {path: b.mp4}}\n");
  const auto begin = Clock::now();
  const int status = rig.wait();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  EXPECT_EQ(report.at("master_restarts"), 0) << rig.log();
  EXPECT_EQ(report.at("publisher_restarts"), 0);
  EXPECT_EQ(report.at("workers")[0].at("restarts"), 0);
  const auto a = rig.camera("a");
  if (a.at("state") == "failed") {
    EXPECT_NE(a.at("reason"), "");
  } else {
    EXPECT_EQ(a.at("frames").at("decoded"), changes) << rig.log();
  }
  EXPECT_EQ(rig.camera("b").at("state"), "ended");
  EXPECT_EQ(rig.camera("b").at("frames").at("recorded"), 100);
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("b.mp4")), true), "");
  EXPECT_TRUE(status == 0 || status == 3) << status;
  const auto files = std::distance(fs::directory_iterator(recordings), {});
  std::cout << files << " files, " << seconds << " s\n";
  EXPECT_GE(files, 1);
  EXPECT_LE(files, 13 + static_cast<int>(seconds)) << "ten at once, then one now and then; the index and its lock";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
