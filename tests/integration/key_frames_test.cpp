// Where key frames of a gop that is a time lie, as ffprobe sees them in recordings: on one grid for all outputs of a
// camera, also after a process of the rig was killed, and on another one for each camera.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "stages/encoders/key_frame_grid.h"
#include "tests/integration/clips.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr std::int64_t ms = 1'000'000;
constexpr std::chrono::milliseconds gop(700);
const std::string encode = "{codec: h264, gop: 700ms, bitrate: 1M, options: {sc_threshold: 0}}";

struct RecordedFrame {
  std::int64_t time = 0;  // ns since the first
  bool key = false;
};

std::vector<RecordedFrame> probe(const std::filesystem::path& file) {
  const std::string command =
      "ffprobe -v error -select_streams v:0 -show_entries packet=pts_time,flags -of csv=p=0 '" + file.string() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::vector<RecordedFrame> frames;
  double first = 0;
  double time = 0;
  char flag = '_';
  while (std::fscanf(pipe.get(), "%lf,%c%*[^\n]", &time, &flag) == 2) {
    if (frames.empty()) first = time;
    frames.push_back({std::llround((time - first) * 1e9), flag == 'K'});
  }
  return frames;
}

// 29.97 frames a second in whole milliseconds.
ClipSpec ntsc(int frames) {
  ClipSpec clip{.name = "ntsc.mkv", .frames = frames, .rate = 30};
  for (int i = 0; i < frames; ++i) clip.times_ms.push_back((i * 1001 * 10 / 30 + 5) / 10);
  return clip;
}

ClipSpec irregular(int frames) {
  return {.name = "irregular.mkv", .frames = frames, .rate = 30, .times_ms = irregular_times(frames)};
}

// One that is recorded twice.
std::string camera(const std::string& name, const std::string& source, const std::string& more = "") {
  return "  " + name + ":\n    source: \"" + source + "\"\n    encode: " + encode + "\n    record: {path: " + name +
         ".mp4}\n" + more +
         "    outputs:\n      small: {filters: [{resize: {width: 160, height: 120}}], encode: " + encode +
         ", record: {path: " + name + "-small.mp4}}\n";
}

std::string rig_of(const std::string& cameras) {
  return "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {drop_policy: block}\ncameras:\n" +
         cameras;
}

struct OnGrid {
  std::vector<std::size_t> keys;  // numbers of the frames in the clip
  std::vector<std::size_t> off;   // key frames that are not on the grid
};

// Each frame of the recording is one of the clip, and those of them that are due are key frames.
OnGrid check(const std::filesystem::path& file, const ClipSpec& clip, const std::string& camera) {
  OnGrid found;
  const std::vector<std::int64_t> times = times_of(clip);
  KeyFrameGrid grid(gop, key_frame_shift(camera, gop));
  std::size_t at = 0;
  for (const RecordedFrame& frame : probe(file)) {
    while (at < times.size() && times[at] < frame.time - 2 * ms) ++at;
    if (at == times.size() || times[at] > frame.time + 2 * ms) {
      ADD_FAILURE() << file << ": no frame of the clip is at " << frame.time;
      return found;
    }
    const bool due = grid.is_due(times[at]);
    EXPECT_TRUE(frame.key || !due) << file << ": frame " << at;
    if (frame.key) found.keys.push_back(at);
    if (frame.key && !due) found.off.push_back(at);
    ++at;
  }
  return found;
}

TEST(KeyFrames, LieOnOneGridInAllOutputsAndOnAnotherForEachCamera) {
  const TemporaryFolder clips;
  const ClipSpec steady = ntsc(300);
  const ClipSpec jumpy = irregular(120);
  make_clip(clips.path(), steady);
  make_clip(clips.path(), jumpy);
  const auto at = [&](const ClipSpec& clip) { return (clips.path() / clip.name).string(); };
  RigRun rig(rig_of(camera("a", at(steady), "    pace: fast\n") + camera("b", at(steady), "    pace: fast\n") +
                    camera("c", at(jumpy), "    pace: fast\n")));
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  std::set<std::vector<std::size_t>> different;
  for (const std::string name : {"a", "b", "c"}) {
    const ClipSpec& clip = name == "c" ? jumpy : steady;
    const OnGrid main = check(rig.file(name + ".mp4"), clip, name);
    const OnGrid small = check(rig.file(name + "-small.mp4"), clip, name);
    EXPECT_EQ(main.keys, small.keys) << name;
    EXPECT_TRUE(main.off.empty() && small.off.empty()) << name;
    EXPECT_GE(main.keys.size(), 14U) << name;
    different.insert(main.keys);
  }
  EXPECT_EQ(different.size(), 3U);
}

TEST(KeyFrames, StayWhereTheyAreWhenTheWorkerIsKilled) {
  const TemporaryFolder clips;
  const ClipSpec clip = ntsc(300);
  make_clip(clips.path(), clip);
  RigRun rig(rig_of(camera("a", (clips.path() / clip.name).string(), "    queue_size: 32\n")));
  for (const std::string file : {"a.mp4", "a-small.mp4"}) {
    ASSERT_TRUE(rig.wait_for_growth(file, 4000)) << rig.log();
  }
  ::kill(rig.pid_of("worker 0"), SIGKILL);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.camera("a").at("worker_restarts"), 1);
  for (const std::string name : {"a.mp4", "a-small.mp4"}) {
    const OnGrid found = check(rig.file(name), clip, "a");
    ASSERT_GE(found.keys.size(), 8U) << name;
    // The first frame of another encoder is a key frame wherever it is.
    EXPECT_LE(found.off.size(), 1U) << name;
    if (found.off.empty()) continue;
    EXPECT_LT(found.keys.front(), found.off.front()) << name;
    EXPECT_LT(found.off.front() + 2 * 21, found.keys.back()) << name << ": killed too late to see what comes then";
  }
}

// Of a live camera, whose stream has no beginning: the grid is that of the clock, which the next source goes on with.
TEST(KeyFramesOfALiveCamera, StayWhereTheyAreWhenTheSourceIsKilled) {
  const int port = free_port();
  const RigRun camera("http_address: off\nrtsp_address: \"127.0.0.1:" + std::to_string(port) +
                      "\"\nworkers: {count: 1}\ncameras:\n  cam:\n    source: "
                      "\"test://pattern?width=320&height=240&rate=25\"\n    encode: {gop: 5, bitrate: 1M}\n");
  ASSERT_TRUE(eventually([&] { return camera.log().find("rtsp://") != std::string::npos; })) << camera.log();
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  live:\n    source: \"rtsp://127.0.0.1:" +
      std::to_string(port) +
      "/cam\"\n    rtsp_transport: tcp\n    retry_interval: 100ms\n    use_absolute_timestamp: false\n    encode: " +
      encode + "\n    record: {path: live.mp4}\n");
  constexpr std::uintmax_t some = 200'000;  // bytes: more than a second
  ASSERT_TRUE(rig.wait_for_growth("live.mp4", some)) << rig.log();
  ::kill(rig.pid_of("source"), SIGKILL);
  ASSERT_TRUE(rig.wait_for_growth("live.mp4", rig.size("live.mp4") + 2 * some)) << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.report().at("source_restarts"), 1);

  const std::vector<RecordedFrame> frames = probe(rig.file("live.mp4"));
  constexpr std::int64_t step = 40 * ms;
  // How far behind a line of some grid the key frames lie, where no frame is missing before them.
  std::vector<std::int64_t> behind;
  std::set<bool> sides;  // of the gap
  bool gap = false;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const bool missing = frames[i].time - frames[i - 1].time > step + 10 * ms;
    gap = gap || missing;
    if (!frames[i].key || missing) continue;
    behind.push_back(frames[i].time % (gop.count() * ms));
    sides.insert(gap);
  }
  ASSERT_EQ(sides.size(), 2U) << rig.log();
  // One frame, and what the clock is slewed by meanwhile: all lie in so long a part of a circle of one gop.
  const std::int64_t part = step + frames.back().time / 200 + 10 * ms;
  ASSERT_LT(2 * part, gop.count() * ms);
  const bool all_near = std::ranges::any_of(behind, [&](std::int64_t first) {
    return std::ranges::all_of(
        behind, [&](std::int64_t one) { return (one - first + gop.count() * ms) % (gop.count() * ms) <= part; });
  });
  EXPECT_TRUE(all_near) << testing::PrintToString(behind) << rig.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
