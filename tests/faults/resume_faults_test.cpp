// The source dies while it reads files, or the master while it decodes them: the successor goes on with the very next
// frame, wherever in a group of frames that was, and whatever the container's seeking is like.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/faults/fault_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/times_in.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr int clip_frames = 48;

// Its camera's process dies each 25 packets or so: after the second death more than 40 of them have been there.
void end_after_two_deaths(RigRun& rig) {
  ASSERT_TRUE(eventually([&] { return times_in(rig.log(), " died (") >= 2; })) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
}

struct Kind {
  std::string camera;
  ClipSpec clip;
  int threads = 1;
};

// Groups have 12 frames.
const std::vector<Kind> kinds{
    {"mp4", {.name = "a.mp4"}},
    {"mp4_b", {.name = "b.mp4", .b_frames = 3}},
    {"mkv_b_irregular", {.name = "b.mkv", .b_frames = 3, .times_ms = irregular_times(clip_frames, 500)}, 4},
    {"ts_b", {.name = "b.ts", .b_frames = 3}},
    {"h264", {.name = "a.h264"}},
    {"h264_b", {.name = "b.h264", .b_frames = 2}},
    {"mpeg4_b", {.name = "b.avi", .encoder = "mpeg4", .b_frames = 2}},
    {"mpeg2_b", {.name = "b.mpg", .encoder = "mpeg2video", .b_frames = 2}},
    {"mpeg4", {.name = "a.avi", .encoder = "mpeg4"}},
    // Where a decoder begins in the midst of those, it gives no frame until all pieces have come.
    {"mp4_refreshes", {.name = "r.mp4", .refreshes = true}},
    {"mkv_refreshes", {.name = "r.mkv", .refreshes = true}},
    {"ts_refreshes", {.name = "r.ts", .refreshes = true}}};

// Each camera's process dies once, all around the beginning of a group, and takes the others along, wherever they are.
class ResumedAt : public testing::TestWithParam<std::string> {};

TEST_P(ResumedAt, FilesOfAllKindsGoOnWithTheNextPicture) {
  const TemporaryFolder clips;
  std::string yaml = "defaults: {pace: fast, encode: {codec: h264}, record: {path: \"{camera}.mp4\"}}\ncameras:\n";
  std::vector<Kind> made;
  for (Kind kind : kinds) {
    if (!can_encode(kind.clip.encoder)) continue;
    kind.clip.frames = clip_frames;
    make_clip(clips.path(), kind.clip);
    yaml += "  " + kind.camera + ": {source: \"" + (clips.path() / kind.clip.name).string() +
            "\", decode: {threads: " + std::to_string(kind.threads) + "}}\n";
    made.push_back(std::move(kind));
  }
  std::string failpoints;
  for (int death = 35; const char* camera : {"mp4_b", "ts_b", "h264_b"}) {
    const auto dying = clips.path() / (std::string("dying-") + camera);
    std::ofstream(dying).put('\n');
    failpoints += GetParam() + "@" + camera + ":" + std::to_string(death++) + "=kill_once" + dying.string() + ",";
  }
  RigRun rig(yaml, {.failpoints = failpoints});
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_GE(rig.report().at(GetParam() == "source.packet" ? "source_restarts" : "master_restarts"), 1) << rig.log();
  for (const Kind& kind : made) {
    SCOPED_TRACE(kind.camera);
    const VideoFile recording = read_video(rig.file(kind.camera + ".mp4"));
    EXPECT_EQ(check_pattern_recording(recording, true), "") << rig.log();
    ASSERT_EQ(recording.pictures.size(), std::size_t{clip_frames}) << rig.log();
    const auto times = times_of(recording);
    const auto expected = times_of(kind.clip);
    for (std::size_t i = 0; i < times.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(times[i]), static_cast<double>(expected[i]), 1e6) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(The, ResumedAt, testing::Values("source.packet", "ingest.published"), [](const auto& place) {
  return place.param == "source.packet" ? std::string("Source") : std::string("Master");
});

// Who reads a loop has no place to go back to: it begins again, and time goes on. Who decodes it goes on in it.
TEST(ResumedLoop, GoesOnInTime) {
  for (const std::string place : {"source.packet", "ingest.published"}) {
    SCOPED_TRACE(place);
    const bool begins_again = place == "source.packet";
    const TemporaryFolder clips;
    make_clip(clips.path(), {.name = "a.mp4", .frames = 20});
    RigRun rig("cameras: {cam: {source: \"" + (clips.path() / "a.mp4").string() +
                   "\", loop: true, encode: {codec: h264}, record: {path: cam.mp4}}}",
               {.failpoints = place + ":27=kill"});
    ASSERT_NO_FATAL_FAILURE(end_after_two_deaths(rig));
    EXPECT_EQ(check_accounting(rig.report()), "");
    const VideoFile recording = read_video(rig.file("cam.mp4"));
    const auto numbers = numbers_of(recording);
    ASSERT_GT(numbers.size(), 40U) << rig.log();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(numbers[i], static_cast<std::int64_t>(begins_again ? i % 26 % 20 : i % 20)) << i;
      if (i > 0) {
        ASSERT_GT(recording.pictures[i].pts, recording.pictures[i - 1].pts) << i;
      }
    }
  }
}

// With B-frames, some of the frames that were passed on are shown later than the newest packet: what comes next is
// shown behind all of them.
TEST(ResumedLoop, OfCopiesGoesOnInTime) {
  const TemporaryFolder clips;
  const ClipSpec clip{.name = "b.mp4", .frames = 20, .b_frames = 3};
  make_clip(clips.path(), clip);
  RigRun rig("cameras: {cam: {source: \"" + (clips.path() / clip.name).string() +
                 "\", loop: true, encode: {codec: copy}, record: {path: cam.mkv}}}",
             {.failpoints = "packets.writer.head:26=kill"});  // between B-frames
  ASSERT_NO_FATAL_FAILURE(end_after_two_deaths(rig));
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_GE(rig.report().at("source_restarts"), 1);
  const VideoFile recording = read_video(rig.file("cam.mkv"));
  EXPECT_EQ(recording.complaints, 0) << recording.text;
  ASSERT_GT(recording.pictures.size(), 40U) << rig.log();
  for (std::size_t i = 1; i < recording.pictures.size(); ++i) {
    ASSERT_GT(recording.pictures[i].pts, recording.pictures[i - 1].pts) << i;
  }
  const auto source = rig.camera("cam").at("source").at("timestamps_corrected");
  EXPECT_EQ(source.at("repeated"), 0) << "no packet had to be moved";
}

// The master dies when it has made a ring for frames of another size, and none has come into that.
TEST(ResumedSizes, NoFrameComesTwice) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "large.h264", .frames = 20});
  make_clip(clips.path(), {.name = "small.h264", .width = 192, .height = 160, .frames = 20});
  std::ofstream(clips.path() / "both.h264", std::ios::binary)
      << read_text(clips.path() / "large.h264") << read_text(clips.path() / "small.h264");
  const auto dying = clips.path() / "dying";
  std::ofstream(dying).put('\n');
  RigRun rig("cameras: {cam: {source: \"" + (clips.path() / "both.h264").string() +
                 "\", pace: fast, encode: {codec: h264}, record: {path: cam.mp4}}}",
             {.failpoints = "ingest.ring:2=kill_once" + dying.string()});
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.report().at("master_restarts"), 1) << rig.log();
  const auto frames = rig.camera("cam").at("frames");
  EXPECT_EQ(frames.at("decoded"), 40) << rig.log();
  EXPECT_TRUE(frames.at("dropped").empty()) << frames;
}

// What is passed on without a decoder: nothing is missing, and nothing comes twice.
TEST(ResumedCopy, GoesOnWithTheNextPacket) {
  const TemporaryFolder clips;
  const ClipSpec clip{.name = "b.mp4", .frames = clip_frames, .b_frames = 3};
  make_clip(clips.path(), clip);
  RigRun rig("cameras: {cam: {source: \"" + (clips.path() / clip.name).string() +
                 "\", pace: fast, encode: {codec: copy}, record: {path: cam.mp4}}}",
             {.failpoints = "packets.writer.head:37=kill"});
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_GE(rig.report().at("source_restarts"), 1);
  const auto numbers = numbers_of(read_video(rig.file("cam.mp4")));
  ASSERT_EQ(numbers.size(), std::size_t{clip_frames}) << rig.log();
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<std::int64_t>(i));
}

// The audio of a file is read beside its video, mostly before it: what a source has passed on comes once.
TEST(ResumedAudio, OfAFileComesOnce) {
  const TemporaryFolder clips;
  const std::string file = (clips.path() / "a.mp4").string();
  Program ffmpeg({"ffmpeg",
                  "-v",
                  "error",
                  "-f",
                  "lavfi",
                  "-i",
                  "testsrc2=size=320x240:rate=25:duration=3",
                  "-f",
                  "lavfi",
                  "-i",
                  "sine=sample_rate=48000:duration=3",
                  "-c:v",
                  "libx264",
                  "-g",
                  "50",
                  "-bf",
                  "0",
                  "-c:a",
                  "aac",
                  file});
  ASSERT_EQ(ffmpeg.wait(), 0);
  const auto dying = clips.path() / "dying";
  const auto recorded = [&](int death) {  // 0: none
    if (death > 0) std::ofstream(dying).put('\n');
    RigRun rig("cameras: {cam: {source: \"" + file + "\", encode: {codec: h264}, record: {path: cam.mp4}}}",
               {.failpoints = "source.packet:" + std::to_string(death + 1) + "=kill_once" + dying.string()});
    EXPECT_EQ(rig.wait(), 0) << rig.log();
    EXPECT_EQ(rig.report().at("source_restarts"), death > 0 ? 1 : 0);
    return sound_times(rig.file("cam.mp4"));
  };
  const std::vector<double> undisturbed = recorded(0);
  EXPECT_GT(undisturbed.size(), 130U);
  EXPECT_EQ(recorded(60), undisturbed);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
