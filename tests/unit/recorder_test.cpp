#include "stages/sinks/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "stages/sinks/file_duration.h"
#include "stages/sinks/sample_data.h"
#include "tests/unit/encoded_clip.h"
#include "tests/unit/read_back.h"

// A configuration here names only what it is about.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using test::Contents;
using test::read_back;
using testing::HasSubstr;

using test::Clip;
using test::encode;
using test::ms;
using test::Packet;
using test::second;
using test::steady;

// Steps between 10 and 190 ms, in no integer of anything.
std::vector<std::int64_t> varying(int count) {
  std::vector<std::int64_t> times;
  std::int64_t t = 0;
  for (int i = 0; i < count; ++i) times.push_back(t += 10 * ms + (i * 7919 % 181) * 1'000'123);
  return times;
}

void expect_near(const std::vector<std::int64_t>& actual, const std::vector<std::int64_t>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], ms) << i;
}

// The file holds exactly these packets, and they decode to frames 0, 1, 2, … at their times.
void expect_holds(const fs::path& path, const std::vector<Packet>& packets) {
  const Contents contents = read_back(path);
  EXPECT_EQ(contents.warnings, 0);
  std::vector<std::int64_t> pts;
  std::vector<bool> keys;
  for (const Packet& p : packets) {
    pts.push_back(p.times.pts);
    keys.push_back(p.key);
  }
  expect_near(contents.pts, pts);
  EXPECT_EQ(contents.keys, keys);
  EXPECT_TRUE(std::ranges::is_sorted(contents.dts, std::ranges::less_equal{}) || !path.string().ends_with(".mp4"));
  std::ranges::sort(pts);
  expect_near(contents.shown, pts);
  EXPECT_TRUE(std::ranges::adjacent_find(contents.shown, std::ranges::greater_equal{}) == contents.shown.end());
  EXPECT_LT(contents.worst_difference, 6);
}

std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, size);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

// A folder of its own for each test, gone afterwards.
class RecorderFiles : public testing::Test {
 protected:
  RecorderFiles() {
    std::string name = (fs::temp_directory_path() / "recorder_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw system_error("mkdtemp", errno);
    folder_ = name;
  }
  ~RecorderFiles() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;
};

enum class Rate { steady, varying };

class Recorders : public RecorderFiles, public testing::WithParamInterface<std::tuple<std::string, Latency, Rate>> {
 protected:
  [[nodiscard]] std::string file() const { return folder_ / ("a" + std::get<0>(GetParam())); }
  [[nodiscard]] Latency latency() const { return std::get<1>(GetParam()); }
  [[nodiscard]] Clip clip() const {
    return encode(latency(), std::get<2>(GetParam()) == Rate::steady ? steady(100) : varying(100));
  }
};

std::string name_of(const testing::TestParamInfo<Recorders::ParamType>& info) {
  return std::get<0>(info.param).substr(1) + (std::get<1>(info.param) == Latency::low ? "_low" : "_normal") +
         (std::get<2>(info.param) == Rate::steady ? "_steady" : "_varying");
}
INSTANTIATE_TEST_SUITE_P(All, Recorders,
                         testing::Combine(testing::Values(".mp4", ".mkv"),
                                          testing::Values(Latency::low, Latency::normal),
                                          testing::Values(Rate::steady, Rate::varying)),
                         name_of);

// A fragment ends after every `every` packets.
RecordPosition write(Recorder& recorder, std::span<const Packet> packets, std::size_t every) {
  RecordPosition position;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    recorder.write(packets[i].view());
    if ((i + 1) % every == 0) position = recorder.flush();
  }
  return position;
}

TEST_P(Recorders, GiveBackWhatWasWritten) {
  const Clip c = clip();
  for (const std::size_t every : {1u, 7u, 100u}) {
    SCOPED_TRACE(every);
    const auto recorder = Recorder::create(in_own_folder(file()), c.parameters);
    write(*recorder, c.packets, every);
    const RecordPosition position = recorder->flush();
    EXPECT_EQ(position.packets, c.packets.size());
    EXPECT_EQ(position.fragments, (c.packets.size() + every - 1) / every);
    EXPECT_EQ(position.offset, fs::file_size(recorder->path()));
    EXPECT_EQ(position.last_dts, c.packets.back().dts);
    expect_holds(recorder->path(), c.packets);
  }
}

TEST_P(Recorders, PleaseFfprobe) {
  const Clip c = clip();
  const auto recorder = Recorder::create(in_own_folder(file()), c.parameters);
  write(*recorder, c.packets, 10);
  const std::string output =
      output_of("ffprobe -v warning -show_entries packet=pts_time -of csv=p=0 '" + recorder->path() + "' 2>&1");
  std::istringstream lines(output);
  std::vector<std::int64_t> pts;
  for (std::string line; std::getline(lines, line);) pts.push_back(std::llround(std::stod(line) * 1e9));
  std::vector<std::int64_t> expected;
  for (const Packet& p : c.packets) expected.push_back(p.times.pts);
  expect_near(pts, expected);
  EXPECT_EQ(output_of("ffmpeg -v warning -i '" + recorder->path() +
                      "' -fps_mode passthrough -enc_time_base -1 -f null - 2>&1"),
            "");
}

TEST_P(Recorders, AfterDeathTheFilePlaysUpToTheLastFlush) {
  const Clip c = clip();
  std::string path;
  {
    const auto recorder = Recorder::create(in_own_folder(file()), c.parameters);
    path = recorder->path();
    write(*recorder, std::span(c.packets).first(60), 20);
    for (std::size_t i = 60; i < 75; ++i) recorder->write(c.packets[i].view());
    EXPECT_GT(recorder->pending_bytes(), 0u);
  }
  const Contents contents = read_back(path);
  EXPECT_EQ(contents.pts.size(), 60u);
  EXPECT_EQ(contents.shown.size(), 60u);
  EXPECT_EQ(contents.warnings, 0);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Dies at any moment, the very first packets included; half a fragment may lie behind what counts.
TEST_P(Recorders, SuccessorsGoOnWhereTheLastFlushEnded) {
  const Clip c = clip();
  RecordPosition position;
  std::string path = Recorder::create(in_own_folder(file()), c.parameters)->path();
  const std::span<const Packet> packets = c.packets;
  for (const std::size_t count : {0u, 1u, 1u, 3u, 30u, 20u, 45u}) {
    std::ofstream(path, std::ios::app) << std::string(5000, 'x');
    const auto recorder = Recorder::resume(in_own_folder(path), c.parameters, position);
    EXPECT_EQ(recorder->path(), path);
    for (const Packet& p : packets.subspan(position.packets, count)) recorder->write(p.view());
    const RecordPosition flushed = recorder->flush();
    EXPECT_EQ(flushed.packets, position.packets + count);
    position = flushed;
    for (const Packet& p : packets.subspan(position.packets)) recorder->write(p.view());  // lost
  }
  ASSERT_EQ(position.packets, packets.size());
  EXPECT_EQ(position.fragments, 6u);
  expect_holds(path, c.packets);
}

// Shared memory says where; what is behind a wrong place would be overwritten.
TEST_P(Recorders, SuccessorsBelieveNoEndWithinAFragment) {
  const Clip c = clip();
  std::string path;
  RecordPosition position;
  {
    const auto recorder = Recorder::create(in_own_folder(file()), c.parameters);
    path = recorder->path();
    position = write(*recorder, std::span(c.packets).first(60), 20);
  }
  for (const std::uint64_t wrong : {position.offset - 1, position.offset / 2 + 3, std::uint64_t{7}}) {
    RecordPosition damaged = position;
    damaged.offset = wrong;
    EXPECT_THAT(error_of([&] { Recorder::resume(in_own_folder(path), c.parameters, damaged); }),
                HasSubstr(path + ": no frame ends where it was said to end"))
        << wrong;
  }
  EXPECT_EQ(read_back(path).pts.size(), 60u) << "and nothing is written";
  EXPECT_NO_THROW(Recorder::resume(in_own_folder(path), c.parameters, position));
}

TEST_P(Recorders, TakeANewEncodersPacketsIntoTheSameFile) {
  const Clip first = encode(latency(), steady(40));
  const Clip second_clip = encode(latency(), steady(40, 40 * 40 * ms), 40);
  ASSERT_EQ(first.parameters, second_clip.parameters);
  const std::string path = Recorder::create(in_own_folder(file()), first.parameters)->path();
  auto recorder = Recorder::resume(in_own_folder(path), first.parameters, {});
  const RecordPosition position = write(*recorder, first.packets, 40);
  recorder = Recorder::resume(in_own_folder(path), first.parameters, position);
  write(*recorder, second_clip.packets, 8);
  std::vector<Packet> all = first.packets;
  all.insert(all.end(), second_clip.packets.begin(), second_clip.packets.end());
  expect_holds(path, all);
}

class Containers : public RecorderFiles, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] std::string file() const { return folder_ / ("a" + std::string(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(All, Containers, testing::Values(".mp4", ".mkv"),
                         [](const auto& container) { return std::string(container.param).substr(1); });

TEST_P(Containers, KeepTimesThatStartLate) {
  const Clip clip = encode(Latency::normal, steady(20, 3600 * second));
  const auto recorder = Recorder::create(in_own_folder(file()), clip.parameters);
  write(*recorder, clip.packets, 10);
  expect_holds(recorder->path(), clip.packets);
}

double seconds_of(const std::string& file, const std::string& entry) {
  const std::string text = output_of("ffprobe -v error -show_entries format=" + entry + " -of csv=p=0 '" + file + "'");
  return text.starts_with("N/A") ? -1 : std::stod(text);
}

// The stream has run for an hour. A reader finds the length in the header of a file that is finished; the file grows
// in its place by nothing.
TEST_P(Containers, BeginAtZeroAndSayHowLongTheyAre) {
  const std::int64_t late = 3600 * second;
  const Clip clip = encode(Latency::normal, steady(50, late));
  const auto recorder = Recorder::create(in_own_folder(file()), clip.parameters, {}, {late, 1'795'256'130 * second});
  write(*recorder, clip.packets, 10);
  const auto size = recorder->flush(late + 2 * second).offset;
  recorder->finish(2 * second);
  EXPECT_EQ(fs::file_size(file()), size);
  std::vector<Packet> shown = clip.packets;
  for (Packet& packet : shown) packet.times.pts -= late;
  expect_holds(file(), shown);
  EXPECT_EQ(seconds_of(file(), "start_time"), 0);
  EXPECT_NEAR(seconds_of(file(), "duration"), 2, 0.1);
}

TEST_P(Containers, OfADeadProcessGetTheirLengthFromItsSuccessor) {
  const Clip clip = encode(Latency::low, steady(50));
  const auto recorder = Recorder::create(in_own_folder(file()), clip.parameters);
  write(*recorder, clip.packets, 10);
  const double before = seconds_of(file(), "duration");
  write_duration(in_own_folder(file()), 2 * second);
  EXPECT_NEAR(seconds_of(file(), "duration"), 2, 0.001) << "before: " << before;
  expect_holds(file(), clip.packets);
  write_duration(in_own_folder(file()), 2 * second);  // the one before died before it could say so
  EXPECT_NEAR(seconds_of(file(), "duration"), 2, 0.001);
}

TEST_P(Containers, KeepTimesThatJump) {
  const Clip clip = encode(Latency::low, {0, 40 * ms, 80 * ms, 12 * 3600 * second, 12 * 3600 * second + 1 * ms});
  const auto recorder = Recorder::create(in_own_folder(file()), clip.parameters);
  write(*recorder, clip.packets, 3);
  recorder->flush();
  expect_near(read_back(recorder->path()).shown,
              {0, 40 * ms, 80 * ms, 12 * 3600 * second, 12 * 3600 * second + 1 * ms});
}

TEST_P(Containers, MendDecodeTimesThatDoNotGrow) {
  Clip clip = encode(Latency::low, steady(10));
  clip.packets[4].dts = clip.packets[3].dts;
  clip.packets[5].dts = clip.packets[2].dts;
  const auto recorder = Recorder::create(in_own_folder(file()), clip.parameters);
  write(*recorder, clip.packets, 3);
  recorder->flush();
  expect_holds(recorder->path(), clip.packets);
}

// libavformat would make samples of no bytes of them, and could not read the file.
TEST_P(Containers, LeaveOutDamagedPacketsOfWhichNothingWouldBeLeft) {
  const Clip clip = encode(Latency::low, steady(10));
  std::vector<Packet> sent = clip.packets;
  for (const std::vector<std::uint8_t>& data : {std::vector<std::uint8_t>(500, 0x55), {0, 0, 0, 1}, {0, 0, 1}, {0}}) {
    Packet damaged = clip.packets[5];
    damaged.data = data;
    sent.insert(sent.begin() + 5, damaged);
  }
  const auto recorder = Recorder::create(in_own_folder(file()), clip.parameters);
  write(*recorder, sent, 3);
  recorder->flush();
  expect_holds(recorder->path(), clip.packets);
}

TEST(MakesSample, OfWhatTheMuxersLeave) {
  struct Case {
    const char* codec;
    std::vector<std::uint8_t> packet;
    bool makes;
  };
  const std::vector<std::uint8_t> annex_b{0, 0, 0, 1, 0x67};
  for (const Case& one : std::vector<Case>{
           {"h264", {0, 0, 0, 1, 0x65, 0x88}, true},
           {"h264", {0, 0, 1, 0x09}, true},
           {"h264", {0x65, 0x88, 0x84}, false},
           {"h264", {0, 0, 0, 1}, false},
           {"hevc", {0, 0, 1, 0x40, 1, 0, 0, 1, 0x26, 1}, true},   // a set, and a frame
           {"hevc", {0, 0, 1, 0x40, 1, 0, 0, 1, 0x42, 1}, false},  // sets alone
           {"av1", {0x12, 0}, false},                              // a temporal delimiter
           {"av1", {0x12, 0, 0x32, 1, 0x10}, true},                // and a frame behind it
           {"av1", {0x12, 0x80}, false},
           {"av1", {0x7a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false},
           {"mjpeg", {0xff}, true},
           {"mjpeg", {}, false},
       }) {
    EXPECT_EQ(makes_sample(one.codec, annex_b, one.packet), one.makes)
        << one.codec << " " << testing::PrintToString(one.packet);
  }
  const std::vector<std::uint8_t> by_lengths{1, 0x64};
  EXPECT_TRUE(makes_sample("h264", by_lengths, std::vector<std::uint8_t>{0x65}));
}

TEST_P(Containers, SayColourAndShape) {
  const Clip clip = encode(Latency::low, steady(2));
  const auto recorder = Recorder::create(in_own_folder(file()), clip.parameters);
  write(*recorder, clip.packets, 2);
  const AvCodecParameters parameters = read_back(recorder->path()).parameters;
  EXPECT_EQ(parameters->width, test::clip_format().width);
  EXPECT_EQ(parameters->height, test::clip_format().height);
  EXPECT_EQ(parameters->color_range, AVCOL_RANGE_MPEG);
  EXPECT_EQ(parameters->color_space, AVCOL_SPC_BT709);
  EXPECT_EQ(parameters->color_primaries, AVCOL_PRI_BT709);
  EXPECT_EQ(parameters->color_trc, AVCOL_TRC_BT709);
  EXPECT_EQ(av_cmp_q(parameters->sample_aspect_ratio, {4, 3}), 0);
}

TEST_P(Containers, NeverOverwriteAndMakeFolders) {
  const Clip clip = encode(Latency::low, steady(2));
  const std::string path = folder_ / "x" / "y.z" / ("a" + std::string(GetParam()));
  const std::string stem = path.substr(0, path.rfind('.'));
  EXPECT_EQ(Recorder::create(in_own_folder(path), clip.parameters)->path(), path);
  EXPECT_EQ(Recorder::create(in_own_folder(path), clip.parameters)->path(), stem + "-1" + GetParam());
  EXPECT_EQ(Recorder::create(in_own_folder(path), clip.parameters)->path(), stem + "-2" + GetParam());
}

// Nothing is lost when the file system refuses for a while.
TEST_P(Containers, FullFileSystemsAreErrorsThatNameTheFile) {
  const Clip clip = encode(Latency::low, steady(60));
  const auto recorder = Recorder::create(in_own_folder(file()), clip.parameters);
  const RecordPosition position = write(*recorder, std::span(clip.packets).first(20), 20);
  for (std::size_t i = 20; i < 40; ++i) recorder->write(clip.packets[i].view());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{position.offset + 100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  std::string message;
  try {
    recorder->flush();
  } catch (const Error& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr(recorder->path()));
  EXPECT_EQ(fs::file_size(recorder->path()), position.offset) << "no half fragment stays behind";
  for (std::size_t i = 40; i < 60; ++i) recorder->write(clip.packets[i].view());
  EXPECT_EQ(recorder->flush().packets, 60u);
  expect_holds(recorder->path(), clip.packets);
}

// What another account may put there.
TEST_F(RecorderFiles, LinksAndPipesAreNotFollowed) {
  const Clip clip = encode(Latency::low, steady(2));
  fs::create_directories(folder_ / "elsewhere");
  std::ofstream(folder_ / "elsewhere" / "precious.mp4") << "12345";
  fs::create_symlink("elsewhere", folder_ / "day");
  fs::create_symlink("elsewhere/precious.mp4", folder_ / "link.mp4");
  ASSERT_EQ(::mkfifo((folder_ / "pipe.mp4").c_str(), 0600), 0);
  const PathBelow in_link{folder_, "day/a.mp4"};
  EXPECT_THAT(error_of([&] { Recorder::create(in_link, clip.parameters); }), HasSubstr("a symbolic link"));
  EXPECT_THAT(error_of([&] { remove_recording({folder_, "day/precious.mp4"}); }), HasSubstr("a symbolic link"));
  for (const char* name : {"link.mp4", "pipe.mp4"}) {
    const PathBelow path{folder_, name};
    EXPECT_EQ(Recorder::create(path, clip.parameters)->path(), folder_ / (fs::path(name).stem().string() + "-1.mp4"));
    EXPECT_NE(error_of([&] { Recorder::resume(path, clip.parameters, {}); }), "no error");
    EXPECT_NE(error_of([&] { write_duration(path, 1); }), "no error");
  }
  EXPECT_THAT(error_of([&] { Recorder::create({folder_, "../a.mp4"}, clip.parameters); }), HasSubstr("cannot make"));
  EXPECT_EQ(fs::file_size(folder_ / "elsewhere" / "precious.mp4"), 5U);
  EXPECT_EQ(Recorder::create(in_own_folder(folder_ / "day" / "own.mp4"), clip.parameters)->path(),
            folder_ / "day" / "own.mp4")
      << "the user's own folder may be a link";
}

TEST_F(RecorderFiles, ErrorsNameTheFile) {
  const Clip clip = encode(Latency::low, steady(2));
  const std::string plain = folder_ / "plain";
  std::ofstream(plain) << "here";
  const auto create = [&](const std::string& path) {
    return error_of([&] { Recorder::create(in_own_folder(path), clip.parameters); });
  };
  const auto resume = [&](const std::string& path, std::uint64_t offset) {
    return error_of([&] { Recorder::resume(in_own_folder(path), clip.parameters, {.offset = offset}); });
  };
  EXPECT_THAT(create(plain + "/a.mp4"), HasSubstr(plain));
  EXPECT_THAT(create(folder_ / "a.avi"), HasSubstr("a.avi"));
  EXPECT_THAT(resume(folder_ / "none.mkv", 5), HasSubstr("none.mkv"));
  fs::rename(plain, folder_ / "short.mp4");
  EXPECT_THAT(resume(folder_ / "short.mp4", 5), HasSubstr("short.mp4"));
  fs::create_symlink("/dev/full", folder_ / "full.mp4");
  EXPECT_THAT(resume(folder_ / "full.mp4", 0), HasSubstr("full.mp4"));
}

TEST_F(RecorderFiles, AFlushWithoutPacketsChangesNothing) {
  const Clip clip = encode(Latency::low, steady(2));
  const auto recorder = Recorder::create(in_own_folder(folder_ / "a.mp4"), clip.parameters);
  const RecordPosition header = recorder->flush();
  EXPECT_EQ(header.packets, 0u);
  EXPECT_EQ(header.fragments, 0u);
  recorder->write(clip.packets[0].view());
  const RecordPosition one = recorder->flush();
  EXPECT_GT(one.offset, header.offset);
  EXPECT_EQ(recorder->flush().offset, one.offset);
  EXPECT_EQ(recorder->pending_bytes(), 0u);
}

// As of a file that somebody has damaged: room that does not lie in what it belongs to.
TEST(FileDuration, IsWrittenOnlyWhereItsRoomIs) {
  const auto patch = [](Container container, std::vector<std::uint8_t> head) {
    head.resize(head.size() + 100);
    return duration_patch(container, head, second);
  };
  const std::vector<std::uint8_t> segment{0x18, 0x53, 0x80, 0x67, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const auto with_info = [&](std::uint8_t size, const std::vector<std::uint8_t>& contents) {
    std::vector<std::uint8_t> head = segment;
    for (const int byte : {0x15, 0x49, 0xa9, 0x66, 0x80 + size}) head.push_back(static_cast<std::uint8_t>(byte));
    head.insert(head.end(), contents.begin(), contents.end());
    return head;
  };
  EXPECT_TRUE(patch(Container::mkv, with_info(11, {0xec, 0x89})));
  for (const std::uint8_t size : {2, 3, 10}) EXPECT_FALSE(patch(Container::mkv, with_info(size, {0xec, 0x89}))) << size;
  EXPECT_TRUE(patch(Container::mkv, with_info(17, {0xbf, 0x84, 1, 2, 3, 4, 0xec, 0x89})));
}

TEST(CanRecordTo, KnowsTheEndings) {
  EXPECT_TRUE(can_record_to("a/b.mp4"));
  EXPECT_TRUE(can_record_to("a/b.mkv"));
  EXPECT_FALSE(can_record_to("a/b.avi"));
  EXPECT_FALSE(can_record_to("mp4"));
  EXPECT_FALSE(can_record_to(""));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
