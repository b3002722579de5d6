// What comes out of a rig: every frame of every file, in order, at its time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.h"
#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

// The most that two lists of times differ, in ns.
std::int64_t worst_difference(const std::vector<std::int64_t>& in, const std::vector<std::int64_t>& out) {
  std::int64_t worst = 0;
  for (std::size_t i = 0; i < std::min(in.size(), out.size()); ++i) worst = std::max(worst, std::abs(in[i] - out[i]));
  return worst;
}

constexpr std::int64_t millisecond = 1'000'000;

struct FileCase {
  std::string title;
  ClipSpec clip;
  std::string recording = "out.mp4";
  int threads = 1;
  bool converted = false;  // by its pixel format the codec cannot write into the ring
  std::string encode = "{codec: h264}";
};

const std::string reordered = "{latency: normal, preset: medium, gop: 25}";

std::vector<FileCase> file_cases() {
  return {{"H264Mp4", {.name = "a.mp4", .frames = 100}},
          {"H264BFramesMp4", {.name = "a.mp4", .frames = 100, .b_frames = 3}, "out.mkv"},
          {"H264BFramesFourThreads",
           {.name = "a.mkv", .frames = 100, .b_frames = 3, .long_references = true},
           "out.mp4",
           4},
          {"H264IrregularMkv",
           {.name = "a.mkv", .frames = 80, .b_frames = 2, .times_ms = irregular_times(80, 1234)},
           "out.mkv"},
          {"H264IrregularMp4Reordered",
           {.name = "a.mp4", .frames = 80, .b_frames = 2, .times_ms = irregular_times(80)},
           "out.mp4",
           1,
           false,
           reordered},
          {"H264IrregularMp4ToMkvReordered",
           {.name = "a.mp4", .frames = 80, .b_frames = 2, .times_ms = irregular_times(80)},
           "out.mkv",
           4,
           false,
           reordered},
          {"TransportStream", {.name = "a.ts", .b_frames = 2}},
          {"HevcBFrames", {.name = "a.mp4", .encoder = "libx265", .b_frames = 3}, "out.mp4", 2},
          {"Mpeg4BFramesAvi", {.name = "a.avi", .encoder = "mpeg4", .b_frames = 2}},
          {"Mpeg4OddSize", {.name = "a.mkv", .encoder = "mpeg4", .width = 323, .height = 243}},
          {"Vp9OddSize", {.name = "a.webm", .encoder = "libvpx-vp9", .width = 321, .height = 241}},
          {"Mjpeg", {.name = "a.avi", .encoder = "mjpeg", .pixels = "yuvj420p"}},
          {"MjpegOddSize422",
           {.name = "a.mkv", .encoder = "mjpeg", .pixels = "yuvj422p", .width = 321, .height = 241},
           "out.mkv",
           1,
           true},
          {"Mpeg2", {.name = "a.mpg", .encoder = "mpeg2video", .b_frames = 2}},
          {"H264TenBits", {.name = "a.mp4", .pixels = "yuv420p10le", .b_frames = 3}, "out.mp4", 1, true},
          {"H264With422", {.name = "a.mp4", .pixels = "yuv422p", .b_frames = 3}, "out.mp4", 4, true},
          {"Lossless444", {.name = "a.mkv", .encoder = "ffv1", .pixels = "yuv444p"}, "out.mkv", 1, true}};
}

// Each is a camera of one rig.
TEST(Rig, EveryFrameOfEachKindOfFileArrives) {
  const TemporaryFolder clips;
  std::string yaml = "defaults: {pace: fast, drop_policy: block}\ncameras:\n";
  std::vector<FileCase> tests;
  for (const FileCase& test : file_cases()) {
    if (!can_encode(test.clip.encoder)) continue;
    tests.push_back(test);
    const fs::path folder = clips.path() / test.title;
    fs::create_directory(folder);
    make_clip(folder, test.clip);
    yaml += "  " + test.title + ":\n    source: \"" + (folder / test.clip.name).string() +
            "\"\n    decode: {threads: " + std::to_string(test.threads) + "}\n    encode: " + test.encode +
            "\n    record: {path: " + test.title + "/" + test.recording + "}\n";
  }
  RigRun rig(yaml);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  EXPECT_EQ(report.at("exit"), "ended");
  for (const FileCase& test : tests) {
    SCOPED_TRACE(test.title);
    const auto frames = report.at("cameras").at(test.title).at("frames");
    EXPECT_EQ(frames.at("decoded"), test.clip.frames) << rig.log();
    EXPECT_EQ(frames.at("encoded"), test.clip.frames);
    EXPECT_EQ(frames.at("recorded"), test.clip.frames);
    EXPECT_EQ(frames.at("converted"), test.converted ? test.clip.frames : 0);
    const VideoFile recording = read_video(rig.file(test.title + "/" + test.recording));
    EXPECT_EQ(check_pattern_recording(recording, true), "");
    EXPECT_EQ(recording.pictures.size(), static_cast<std::size_t>(test.clip.frames));
    EXPECT_LE(worst_difference(times_of(test.clip), times_of(recording)), millisecond);
  }
}

std::string camera(const std::string& name, const std::string& source, const std::string& rest = "") {
  return "  " + name + ":\n    source: \"" + source + "\"\n    record: {path: \"{camera}.mp4\"}\n" + rest;
}

TEST(Rig, FourCamerasOnTwoWorkersLoseNothing) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "b.mp4", .frames = 150, .b_frames = 3});
  const std::string clip = (clips.path() / "b.mp4").string();
  RigRun rig("defaults: {pace: fast, encode: {codec: h264}}\nworkers: {count: 2}\ncameras:\n" + camera("a", clip) +
             camera("b", clip, "    decode: {threads: 4}\n") +
             camera("c", "test://pattern?width=320&height=240&frames=200") +
             camera("d", clip, "    filters: [{resize: {width: 480, height: 360}}, {blur: {sigma: 1}}, sharpen]\n"));
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  for (const auto& [name, number, worker] : {std::tuple{"a", 150, 0}, {"b", 150, 1}, {"c", 200, 0}, {"d", 150, 1}}) {
    const auto frames = report.at("cameras").at(name).at("frames");
    EXPECT_EQ(frames.at("recorded"), number) << name;
    EXPECT_EQ(frames.at("dropped").size(), 0U) << name;
    EXPECT_EQ(report.at("cameras").at(name).at("worker"), worker);
    EXPECT_EQ(check_pattern_recording(read_video(rig.file(std::string(name) + ".mp4")), true), "") << name;
  }
  EXPECT_EQ(report.at("workers").size(), 2U);
}

// By a signal, once `cam` has recorded so many frames.
void end_after(RigRun& rig, std::size_t frames) {
  std::uintmax_t read = 0;
  ASSERT_TRUE(eventually([&] {
    if (!rig.has_grown("cam.mp4", read)) return false;
    read = rig.size("cam.mp4");
    try {
      return read_video(rig.file("cam.mp4")).pictures.size() >= frames;
    } catch (const Error&) {  // there is not enough of it
      return false;
    }
  })) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
}

TEST(Rig, LoopGoesOnInTime) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "b.mp4", .frames = 20, .b_frames = 3});
  const std::string clip = (clips.path() / "b.mp4").string();
  RigRun rig("cameras:\n" + camera("cam", clip, "    loop: true\n    encode: {codec: h264}\n"));
  ASSERT_NO_FATAL_FAILURE(end_after(rig, 60));
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.camera("cam").at("frames").at("recorded"), rig.camera("cam").at("frames").at("encoded"));
  const VideoFile recording = read_video(rig.file("cam.mp4"));
  const auto numbers = numbers_of(recording);
  EXPECT_LE(static_cast<double>(numbers.size()), 25 * rig.report().at("duration_s").get<double>() + 25) << "its pace";
  const auto times = times_of(recording);
  // Where reading stops in the midst of a file, the last frames may lack those that stand after them in it.
  for (std::size_t i = 0; i + 3 < numbers.size(); ++i) {
    ASSERT_EQ(numbers[i], static_cast<std::int64_t>(i % 20)) << i;
    ASSERT_NEAR(static_cast<double>(times[i]), static_cast<double>(i) * 40e6, 2e6) << i;
  }
}

TEST(Rig, AFileThatIsOverwrittenWhileItIsLoopedFails) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "b.mkv", .frames = 20});
  const std::string clip = (clips.path() / "b.mkv").string();
  for (const std::string codec : {"h264", "copy"}) {
    make_clip(clips.path(), {.name = "b.mkv", .frames = 20});
    RigRun rig("http_address: off\nrtsp_address: off\ncameras:\n" +
               camera("cam", clip, "    loop: true\n    encode: {codec: " + codec + "}\n"));
    ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 2000)) << rig.log();
    std::ofstream(clip, std::ios::trunc) << std::string(3000, 'x');
    EXPECT_EQ(rig.wait(), 3) << rig.log();
    EXPECT_THAT(std::string(rig.camera("cam").at("reason")), testing::HasSubstr("gives nothing any more")) << codec;
  }
}

class AFastLoop : public testing::TestWithParam<ClipSpec> {};

TEST_P(AFastLoop, LosesNothingEither) {
  if (!can_encode(GetParam().encoder)) GTEST_SKIP() << "there is no " << GetParam().encoder;
  const TemporaryFolder clips;
  make_clip(clips.path(), GetParam());
  RigRun rig("cameras:\n" + camera("cam", (clips.path() / GetParam().name).string(),
                                   "    loop: true\n    pace: fast\n    encode: {codec: h264}\n"));
  ASSERT_NO_FATAL_FAILURE(end_after(rig, 60));
  EXPECT_EQ(check_accounting(rig.report()), "");
  const VideoFile recording = read_video(rig.file("cam.mp4"));
  for (std::size_t i = 0; i + 3 < recording.pictures.size(); ++i) {  // the end: see above
    ASSERT_EQ(numbers_of(recording)[i], static_cast<std::int64_t>(i % 20)) << i;
    if (i == 0) continue;
    ASSERT_GT(recording.pictures[i].pts, recording.pictures[i - 1].pts) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, AFastLoop,
    testing::Values(ClipSpec{.name = "b.mkv", .frames = 20, .b_frames = 3, .times_ms = irregular_times(20)},
                    ClipSpec{.name = "reordered.ts", .frames = 20, .b_frames = 2},
                    // Not IDR pictures, and no times: the decoder is emptied.
                    ClipSpec{.name = "mpeg2.ts", .encoder = "mpeg2video", .frames = 20, .b_frames = 2}),
    [](const auto& one) { return one.param.name.substr(0, one.param.name.find('.')); });

TEST(Rig, ThePatternTellsItsNumbersAndTimes) {
  const std::int64_t before = utc_now_ns();
  RigRun rig("cameras:\n" + camera("cam", "test://pattern?width=320&height=240&rate=50&frames=100"));
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const std::int64_t after = utc_now_ns();
  const VideoFile recording = read_video(rig.file("cam.mp4"));
  EXPECT_EQ(check_pattern_recording(recording, true), "");
  ASSERT_EQ(recording.pictures.size(), 100U);
  EXPECT_EQ(recording.pictures.front().code->number, 0U);
  std::int64_t last = before / 1000;
  for (const ShownPicture& picture : recording.pictures) {
    EXPECT_GE(picture.code->utc_us, last);
    last = picture.code->utc_us;
  }
  EXPECT_LE(last, after / 1000);
  EXPECT_GE(last * 1000 - before, 1'900 * millisecond);  // realtime: 99 steps of 20 ms
  EXPECT_GT(rig.camera("cam").at("latency_ms").at("p50"), 0);
}

// Clips that are not made here: VTEST, or Debian's, and those in the folder CAMPIPE_CLIPS.
std::vector<fs::path> footage() {
  std::vector<fs::path> clips;
  const char* street = std::getenv("VTEST");
  clips.emplace_back(street != nullptr ? street : "/usr/share/doc/opencv-doc/examples/data/vtest.avi");
  if (const char* folder = std::getenv("CAMPIPE_CLIPS")) {
    for (const auto& entry : fs::directory_iterator(folder)) clips.push_back(entry.path());
  }
  std::erase_if(clips, [](const fs::path& clip) { return !fs::is_regular_file(clip) || clip.extension() == ".md"; });
  return clips;
}

TEST(Rig, RealFootageArrivesWhole) {
  const auto clips = footage();
  if (clips.empty()) GTEST_SKIP() << "no footage here; VTEST=FILE and CAMPIPE_CLIPS=FOLDER name some";
  for (const fs::path& clip : clips) {
    SCOPED_TRACE(clip);
    const VideoFile input = read_video(clip);
    RigRun rig("cameras:\n  cam: {source: \"" + clip.string() + "\", pace: fast, record: {path: out.mkv}}\n");
    ASSERT_EQ(rig.wait_while_it_grows("out.mkv"), 0) << rig.log();
    const VideoFile recording = read_video(rig.file("out.mkv"));
    EXPECT_EQ(recording.pictures.size(), input.pictures.size());
    EXPECT_EQ(rig.camera("cam").at("frames").at("decoded"), input.pictures.size());
    EXPECT_EQ(check_accounting(rig.report()), "");
    EXPECT_LE(worst_difference(times_of(input), times_of(recording)), millisecond);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
