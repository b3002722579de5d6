// What one source says, or cannot have, is its camera's alone: no process ends by it, and no other camera notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/error.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

constexpr int frames = 50;

std::string pattern() {
  return "\"test://pattern?width=160&height=120&rate=25&frames=" + std::to_string(frames) + "\"";
}

// Every process came through, and the camera `well` recorded all of its frames.
void expect_unharmed(const RigRun& rig) {
  const nlohmann::json report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  EXPECT_EQ(report.at("master_restarts"), 0) << rig.log();
  EXPECT_EQ(report.at("publisher_restarts"), 0) << rig.log();
  EXPECT_EQ(report.at("workers")[0].at("restarts"), 0) << rig.log();
  EXPECT_EQ(rig.camera("well").at("state"), "ended");
  EXPECT_EQ(rig.camera("well").at("frames").at("recorded"), frames);
}

// Matroska's element MatrixCoefficients, which libavformat takes as it is, says 200.
void make_clip_of_no_colour(const fs::path& file) {
  const std::string command = "ffmpeg -v error -f lavfi -i testsrc2=size=160x128:rate=25 -frames:v " +
                              std::to_string(frames) + " -c:v mpeg4 -g 10 -colorspace bt709 '" + file.string() + "'";
  if (std::system(command.c_str()) != 0) throw Error("ffmpeg made no clip");
  std::string bytes = read_text(file);
  const auto at = bytes.find("\x55\xb1\x81\x01");
  if (at == std::string::npos) throw Error("the clip does not say its colours");
  bytes[at + 3] = static_cast<char>(200);
  std::ofstream(file, std::ios::binary) << bytes;
}

// Nor one without a thread, as under a limit of threads.
TEST(SourceFaults, AColourThatThereIsNotHarmsNobody) {
  const TemporaryFolder folder;
  const fs::path clip = folder.path() / "odd.mkv";
  make_clip_of_no_colour(clip);
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\n"
      "defaults: {drop_policy: block, record: {path: \"{camera}.mkv\"}}\ncameras:\n  copied: {source: \"" +
          clip.string() + "\", encode: {codec: copy}}\n  encoded: {source: \"" + clip.string() +
          "\", encode: {codec: h264}}\n  bad: {source: " + pattern() + "}\n  well: {source: " + pattern() + "}\n",
      {.failpoints = "ingest.thread@bad=throw"});
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  expect_unharmed(rig);
  for (const std::string name : {"copied", "encoded"}) {
    EXPECT_EQ(rig.camera(name).at("state"), "ended") << name;
    EXPECT_EQ(rig.camera(name).at("frames").at("recorded"), frames) << name;
  }
  EXPECT_EQ(rig.camera("bad").at("state"), "failed");
  EXPECT_NE(rig.camera("bad").at("reason"), "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
