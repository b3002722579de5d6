// What the publisher asks others for: the driver how busy GPUs are, the system for a host's address, the disk for an
// index of a hundred thousand files. None of them may keep its cameras waiting, or have it taken for hung.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/publisher/recording/record_index.h"
#include "core/clock.h"
#include "core/utc_text.h"
#include "tests/integration/environment.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"
#include "tests/paths.h"
#include "tests/unit/command_output.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

const std::string camera =
    "cameras:\n  cam:\n    source: \"test://pattern?width=160&height=120&rate=25\"\n    encode: {gop: 10}\n";

std::string get(int port, const std::string& path) {
  return output_of("curl -s -m 5 http://127.0.0.1:" + std::to_string(port) + path);
}

TEST(SlowLibraries, KeepNobodyWaiting) {
  const Environment preload("LD_PRELOAD", slow_library);
  const Environment libraries("LD_LIBRARY_PATH", fs::path(slow_library).parent_path());
  const int port = free_port();
  RigRun rig(camera + "    record: {path: cam.mp4}\nhttp_address: \"slow.test:" + std::to_string(port) +
             "\"\ninsecure: true\n");
  ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 1000)) << rig.log();
  // Long after a main thread that waits would have been killed.
  ASSERT_TRUE(eventually([&] { return get(port, "/metrics").find("GPU-slow") != std::string::npos; })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.report().at("publisher_restarts"), 0) << rig.log();
}

// Seconds from the start until a camera records, and what the rig waited for a CPU meanwhile.
struct Start {
  double took = 0;
  double waited = 0;
};

// Segments of a minute each, the newest ends now: in the folder, and in the index as its lines of one are.
void record_segments(const fs::path& folder, const fs::path& path, int segments) {
  constexpr std::int64_t minute = 60'000'000'000;
  {
    RecordIndex index(path);
    index.begin({folder / "0.mp4", utc_now_ns(), false});
    index.end({utc_now_ns(), minute, 20, 1500, "segment"});
  }
  std::vector<nlohmann::json> lines;
  std::ifstream written(path);
  for (std::string line; std::getline(written, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 2U);
  std::ofstream all(path);
  for (int i = 0; i < segments; ++i) {
    const std::string name = std::to_string(i) + ".mp4";
    std::ofstream(folder / name).flush();
    fs::resize_file(folder / name, 20);  // without a block: a disk may take milliseconds to discard one
    const std::int64_t start = utc_now_ns() - (segments - i) * minute;
    for (nlohmann::json& line : lines) {
      line["file"] = name;
      line["start"] = utc_text(start);
      if (line.contains("end")) line["end"] = utc_text(start + minute);
      all << line.dump() << '\n';
    }
  }
}

// Into `folder`, where so many segments lie and are in the index.
Start start_of(const fs::path& folder, int segments) {
  if (segments > 0) record_segments(folder, folder / "cam.index.jsonl", segments);
  const auto begin = Clock::now();
  const auto seconds = [&begin] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  RigRun rig(camera + "    record: {path: \"" + (folder / "{camera}.mp4").string() + "\", max_size: 1M}\n");
  RigWaits waits(rig);
  EXPECT_TRUE(rig.wait_for_growth(folder / "cam.mp4", 1)) << rig.log();
  const Start start{seconds(), waits.seconds()};
  // About half of them are too much. What is deleted stands in the index.
  EXPECT_TRUE(eventually([&] {
    return segments == 0 || !fs::exists(folder / (std::to_string(segments / 4) + ".mp4"));
  })) << rig.log();
  std::printf("%d segments: recorded %.2f s after the start, a quarter of them deleted %.2f s after it\n", segments,
              start.took, seconds());
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.report().at("publisher_restarts"), 0) << rig.log();
  const auto frames = rig.camera("cam").at("frames");
  EXPECT_EQ(frames.at("recorded"), frames.at("encoded"));
  EXPECT_EQ(check_pattern_recording(read_video(folder / "cam.mp4"), true), "");
  return start;
}

// What docs/performance.md says of 100,000 segments is printed here.
TEST(LargeIndex, IsReadWhileItsRecordingRuns) {
  const TemporaryFolder none;
  const TemporaryFolder many;
  const double without = start_of(none.path(), 0).took;
  const Start with = start_of(many.path(), 100'000);
  EXPECT_LT(with.took, 3 * without + with.waited);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
