// What an index may say that somebody has edited.
#include "app/publisher/recording/record_index.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/utc_text.h"
#include "stages/sinks/recorder.h"
#include "tests/unit/encoded_clip.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t second = 1'000'000'000;

TEST(RecordTime, IsTheSameWhenItIsReadAgain) {
  for (const char* text : {"2026-11-21T10:15:30.250Z", "1970-01-01T00:00:00.001Z", "2261-12-31T23:59:59.999Z"})
    EXPECT_EQ(utc_text(utc_from_text(text).value_or(0)), text);
  for (int ms = 0; ms < 1000; ++ms) {
    const std::int64_t time = 1'795'256'130 * second + ms * (second / 1000);
    EXPECT_EQ(utc_from_text(utc_text(time)), time);
  }
  EXPECT_EQ(utc_text(-531 * (second / 1000)), "1969-12-31T23:59:59.469Z") << "a clock that was never set";
}

TEST(RecordTime, ThatDoesNotFitIsNone) {
  for (const char* text :
       {"9999-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z", "2262-01-01T00:00:00.000Z",
        "-2147483648-2147483647-21T10:15:30.250Z", "0000-01-01T00:00:00.000Z", "2026-02-30T10:15:30.250Z",
        "2026-06-31T10:15:30.250Z", "2026-11-21T10:15:60.250Z", "2026-1-2T3:4:5Z", "2026-11-21T 9:15:30Z",
        "02026-11-21T10:15:30Z", "2026-11-21t10:15:30Z", "2026-11-21T10:15:30", ""})
    EXPECT_EQ(utc_from_text(text), std::nullopt) << text;
}

TEST(RecordIndex, LeavesOutWhatCannotBe) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  const auto line = [](const std::string& file, const std::string& end, const std::string& bytes) {
    return R"({"event":"end","file":")" + file + R"(","start":"2026-11-21T10:15:30.250Z","end":")" + end +
           R"(","written":"2026-11-21T10:15:30.250Z","bytes":)" + bytes + "}\n";
  };
  const std::string good = "2026-11-21T10:16:30.250Z";
  for (const char* file : {"a.mp4", "b.mp4", "c.mp4", "d.mp4"}) std::ofstream(folder.path() / file) << "12345";
  std::ofstream(path) << line("a.mp4", good, "5") << line("b.mp4", "9999-12-31T23:59:59.999Z", "5")
                      << line("c.mp4", good, "-5") << line("d.mp4\\u0000", good, "5") << line("../x.mp4", good, "5");
  RecordIndex index(path);
  ASSERT_EQ(index.files().size(), 1U);
  EXPECT_EQ(index.files()[0].path, folder.path() / "a.mp4");
}

std::string end_of(const std::string& file, const std::string& written) {
  return R"({"event":"end","file":")" + file +
         R"(","start":"2026-11-21T10:15:30.250Z","end":"2026-11-21T10:16:30.250Z",)" + R"("written":")" + written +
         R"(","bytes":5})" + "\n";
}

// A large index is read piece by piece; what is recorded meanwhile does not wait for it.
TEST(RecordIndex, TakesNewFilesWhileItIsRead) {
  constexpr int files = 3000;
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  std::ofstream lines(path);
  for (int i = 0; i < files; ++i) {
    const std::string name = std::to_string(i) + ".mp4";
    std::ofstream(folder.path() / name) << "12345";
    lines << end_of(name, "2026-11-21T10:16:30.250Z");
  }
  lines << R"({"event":"begin","file":"left.mp4","start":"2026-11-21T10:15:30.250Z","clock":"arrival"})"
        << "\n{\"cut off";
  lines.close();
  for (const char* name : {"left.mp4", "new.mp4", "next.mp4"}) std::ofstream(folder.path() / name) << "12345";
  RecordIndex index(path);
  EXPECT_FALSE(index.load_some());
  index.begin({folder.path() / "new.mp4", utc_now_ns(), false});
  index.end({utc_now_ns(), second, 5, 25, "segment"});
  index.begin({folder.path() / "next.mp4", utc_now_ns(), false});
  int pieces = 1;
  while (!index.load_some()) ++pieces;
  EXPECT_GT(pieces, 5);
  const auto all = index.files();
  ASSERT_EQ(all.size(), files + 2U);
  EXPECT_EQ(all[files].path, folder.path() / "left.mp4") << "somebody was killed while it was written";
  EXPECT_EQ(all.back().path, folder.path() / "new.mp4") << "was closed last";
  EXPECT_EQ(RecordIndex(path).files().size(), files + 3U) << "a successor finds it in the file, and `next` left open";
}

// What another account may put into the folder.
TEST(RecordIndex, ThatIsNoFileIsLeftAlone) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  const auto elsewhere = folder.path() / "elsewhere";
  std::ofstream(folder.path() / "a.mp4") << "12345";
  const std::string text = end_of("a.mp4", "2026-11-21T10:16:30.250Z");
  std::ofstream(elsewhere) << text;
  for (const bool pipe : {false, true}) {
    SCOPED_TRACE(pipe);
    std::filesystem::remove(path);
    if (pipe) {
      ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    } else {
      std::filesystem::create_symlink(elsewhere, path);
    }
    RecordIndex index(path);
    EXPECT_EQ(index.files().size(), 0U);
    index.begin({folder.path() / "b.mp4", utc_now_ns(), false});
    index.end({utc_now_ns(), second, 5, 25, "segment"});
    EXPECT_EQ(index.files().size(), 1U) << "what is recorded now is known";
    EXPECT_EQ(std::filesystem::file_size(elsewhere), text.size());
    std::filesystem::remove(path);
    index.write_pending();
    EXPECT_EQ(RecordIndex(path).files().size(), 0U) << "b.mp4 is not there";
    EXPECT_GT(std::filesystem::file_size(path), 0U) << "as soon as it can be written";
  }
}

TEST(RecordIndex, ItsCopyIsWrittenNowhereElse) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  std::ofstream(folder.path() / "a.mp4") << "12345";
  std::ofstream lines(path);
  for (int i = 0; i < 2000; ++i) lines << end_of("gone.mp4", "2026-11-21T10:16:30.250Z");
  lines << end_of("a.mp4", "2026-11-21T10:16:30.250Z");
  lines.close();
  std::ofstream(folder.path() / "elsewhere") << "precious";
  std::filesystem::create_symlink("elsewhere", path.string() + ".new");
  EXPECT_EQ(RecordIndex(path).files().size(), 1U);
  EXPECT_LT(std::filesystem::file_size(path), 1000U);
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "elsewhere"), 8U);
}

// A line that never ends, of more bytes than there is memory.
TEST(RecordIndex, AHugeOneCostsLittle) {
  constexpr std::uintmax_t huge = std::uintmax_t{1} << 40U;
  constexpr long most_memory = 100L << 10U;  // KiB
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  std::ofstream(folder.path() / "a.mp4") << "12345";
  std::ofstream(path) << "{";
  std::filesystem::resize_file(path, huge);
  std::ofstream(path, std::ios::app) << "\n" << end_of("a.mp4", "2026-11-21T10:16:30.250Z");
  rusage before{};
  rusage after{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  RecordIndex index(path);
  EXPECT_FALSE(index.load_some());
  EXPECT_EQ(index.files().size(), 1U);
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, most_memory);
}

std::vector<std::string> events_of(const std::filesystem::path& path) {
  std::vector<std::string> events;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    const auto line = nlohmann::json::parse(text);
    events.push_back(line.at("event").get<std::string>() + " " + line.at("file").get<std::string>());
  }
  return events;
}

// Whoever recorded it was killed: before its beginning was written, behind that, or even behind its end. Each is
// written once, whether the index has been read by then or not.
TEST(RecordIndex, OfADeadPredecessorsFileEachEventIsWrittenOnce) {
  for (const int written : {0, 1, 2}) {
    for (const bool loaded : {false, true}) {
      SCOPED_TRACE(std::to_string(written) + (loaded ? " loaded" : ""));
      const test::TemporaryFolder folder;
      const auto path = folder.path() / "dock.index.jsonl";
      const RecordIndex::Begin left{folder.path() / "left.mp4", 1'795'256'130 * second, false};
      const RecordIndex::End end{1'795'256'190 * second, 60 * second, 5, 25, "segment"};
      std::ofstream(left.file) << "12345";
      {
        RecordIndex before(path);
        before.begin({folder.path() / "old.mp4", left.start - 60 * second, false});
        before.end(end);
        if (written > 0) before.begin(left);
        if (written > 1) before.end(end);
      }
      RecordIndex index(path, left);
      while (loaded && !index.load_some()) continue;
      index.end(end);
      EXPECT_EQ(index.files().size(), 1U) << "the old one is gone";
      index.write_pending();
      EXPECT_EQ(events_of(path),
                (std::vector<std::string>{"begin old.mp4", "end old.mp4", "begin left.mp4", "end left.mp4"}));
      EXPECT_EQ(RecordIndex(path).files().size(), 1U);
    }
  }
}

// What a whole rig was recording when it was killed.
TEST(RecordIndex, AFileThatWasLeftWithoutAFrameIsDeletedAndNotListed) {
  for (const std::string ending : {".mp4", ".mkv"}) {
    SCOPED_TRACE(ending);
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "dock.index.jsonl";
    const test::Clip clip = test::encode(Latency::low, test::steady(10));
    Recorder::create({folder.path(), "empty" + ending}, clip.parameters);
    const auto recorder = Recorder::create({folder.path(), "full" + ending}, clip.parameters);
    for (const test::Packet& packet : clip.packets) recorder->write(packet.view());
    recorder->flush();
    std::ofstream(folder.path() / ("nothing" + ending)).close();
    std::ofstream(folder.path() / ("foreign" + ending)) << "12345";
    {
      RecordIndex before(path);
      for (const std::string name : {"empty", "full", "nothing", "foreign"})
        before.begin({folder.path() / (name + ending), 1'795'256'130 * second, false});
    }
    RecordIndex index(path);
    EXPECT_EQ(index.files().size(), 2U);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / ("empty" + ending)));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / ("nothing" + ending)));
    EXPECT_TRUE(std::filesystem::exists(folder.path() / ("full" + ending)));
    EXPECT_TRUE(std::filesystem::exists(folder.path() / ("foreign" + ending))) << "it is none of ours";
    index.write_pending();
    const auto events = events_of(path);
    EXPECT_EQ(std::ranges::count(events, "deleted empty" + ending), 1);
    EXPECT_EQ(std::ranges::count(events, "deleted nothing" + ending), 1);
  }
}

// A file that lasted while thousands were deleted.
TEST(RecordIndex, OfADeadPredecessorsFileItsEndIsEnough) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  const RecordIndex::Begin file{folder.path() / "a.mp4", utc_now_ns(), false};
  std::ofstream(file.file) << "12345";
  {
    RecordIndex before(path);
    before.begin(file);
    for (int i = 0; i < 1000; ++i) before.deleted(folder.path() / (std::to_string(i) + ".mp4"), "age");
    before.end({utc_now_ns(), second, 5, 25, "segment"});
  }
  const auto size = std::filesystem::file_size(path);
  ASSERT_GT(size, 80'000U);
  RecordIndex index(path, file);
  index.end({utc_now_ns(), second, 5, 25, "stopped"});
  EXPECT_EQ(std::filesystem::file_size(path), size);
}

// A name that comes again: the lines of an earlier file do not count for it, whenever they are read.
TEST(RecordIndex, WhatIsRecordedNowCountsMoreThanWhatStoodThere) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  const RecordIndex::Begin begin{folder.path() / "dock.mp4", 1'795'256'130 * second, false};
  const RecordIndex::End end{1'795'256'190 * second, 60 * second, 5, 25, "stopped"};
  {
    RecordIndex before(path);
    before.begin(begin);
    before.end(end);
    before.deleted(begin.file, "age");
  }
  std::ofstream(begin.file) << "12345";
  RecordIndex index(path);
  index.begin(begin);
  index.end(end);
  EXPECT_EQ(index.files().size(), 1U);
  EXPECT_EQ(RecordIndex(path).files().size(), 1U);
}

// Bytes that this process has read.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  io >> name >> bytes;
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

TEST(RecordIndex, HowLargeItIsDoesNotMatterToWhatIsRecorded) {
  constexpr int files = 20'000;
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  const auto file = [&](int i) {
    return RecordIndex::Begin{folder.path() / (std::to_string(i) + ".mp4"), utc_now_ns() - (files - i) * second, false};
  };
  {
    RecordIndex before(path);
    for (int i = 0; i < files; ++i) {
      before.begin(file(i));
      before.end({utc_now_ns() - (files - i - 1) * second, second, 5, 25, "segment"});
    }
  }
  constexpr std::uint64_t few = 200'000;
  ASSERT_GT(std::filesystem::file_size(path), 20 * few);
  const std::uint64_t before = bytes_read();
  RecordIndex index(path, file(files));
  index.end({utc_now_ns(), second, 5, 25, "segment"});
  index.begin(file(files + 1));
  EXPECT_LT(bytes_read() - before, few);
  EXPECT_FALSE(index.load_some());
  EXPECT_LT(bytes_read() - before, 2 * few) << "and the rest comes in pieces";
}

// In hours, of the index's files, whose last lines say that they were closed so many hours ago.
std::vector<std::int64_t> ages_of(const std::vector<std::int64_t>& hours_ago) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  const std::int64_t now = utc_now_ns();
  std::ofstream out(path);
  for (const std::int64_t hours : hours_ago) {
    const std::string name = std::to_string(hours) + ".mp4";
    std::ofstream(folder.path() / name) << "12345";
    out << end_of(name, utc_text(now - hours * 3600 * second));
  }
  out.close();
  std::vector<std::int64_t> ages;
  for (const RecordedFile& file : RecordIndex(path).files())
    ages.push_back((utc_now_ns() - file.written + 1800 * second) / (3600 * second));
  return ages;
}

// A clock that was years ahead when the machine started, or a time server that lies: all would be too old at once.
TEST(RecordIndex, AClockThatJumpsMakesNothingOlderForADay) {
  constexpr std::int64_t years = 5 * 365 * 24;
  EXPECT_THAT(ages_of({years + 20, years}), testing::ElementsAre(20, 0)) << "at the start";
  EXPECT_THAT(ages_of({years + 20, years, 3, 1}), testing::ElementsAre(23, 3, 3, 1)) << "and since";
  EXPECT_THAT(ages_of({years, 30, 10}), testing::ElementsAre(years, 30, 10)) << "it goes on like that";
  EXPECT_THAT(ages_of({90, 70, 50, 30, 20}), testing::ElementsAre(90, 70, 50, 30, 20)) << "nights";
  EXPECT_THAT(ages_of({400, 376, 370, 200, 2}), testing::ElementsAre(32, 8, 2, 2, 2)) << "days off, or two jumps";
}

// By the machine's own time since its start, whatever its clock showed, also over the rig's restarts.
TEST(RecordIndex, AgesFollowTheTimeThatHasPassedSinceTheMachineStarted) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  const auto line_of = [](const std::string& name, std::int64_t days_ago, const std::string& boot, std::int64_t up) {
    const std::string line = end_of(name, utc_text(utc_now_ns() - days_ago * 24 * 3600 * second));
    return line.substr(0, line.rfind('}')) + R"(,"boot":")" + boot + R"(","up_s":)" +
           std::to_string(static_cast<double>(up) / 1e9) + "}\n";
  };
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4", "d.mp4"}) std::ofstream(folder.path() / name) << "12345";
  const std::int64_t minute = 60 * second;
  // The machine may have started less than two minutes ago: c and d ended after that.
  const std::int64_t up = now_ns();
  const std::int64_t step = std::min(minute, up / 3);
  const std::array<std::int64_t, 2> ended{up - 2 * step, up - step};
  // Two jumps of 40 days at the start before this one, and two more since.
  std::ofstream(path) << line_of("a.mp4", 160, "before", minute) << line_of("b.mp4", 120, "before", 2 * minute)
                      << line_of("c.mp4", 80, this_boot(), ended[0]) << line_of("d.mp4", 40, this_boot(), ended[1]);
  RecordIndex index(path);
  const auto files = index.files();
  ASSERT_EQ(files.size(), 4U);
  const auto age_of = [&](std::size_t file) { return utc_now_ns() - files[file].written; };
  for (const std::size_t file : {2U, 3U}) {
    EXPECT_GT(age_of(file), up - ended[file - 2] - second) << file;
    EXPECT_LE(age_of(file), now_ns() - ended[file - 2] + second) << file;
  }
  for (const std::size_t file : {0U, 1U}) EXPECT_LT(age_of(file), 24 * 60 * minute) << file;
}

// A box without a battery for its clock begins in 1970, until it has asked the network.
TEST(RecordIndex, FilesOfATimeThatCannotBeAreAsOldAsIsKnown) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4"}) std::ofstream(folder.path() / name) << "12345";
  const std::string an_hour_ago = utc_text(utc_now_ns() - 3600 * second);
  std::ofstream(path) << end_of("a.mp4", "1970-01-01T00:05:00.000Z") << end_of("b.mp4", "2200-01-01T00:00:00.000Z")
                      << end_of("c.mp4", an_hour_ago);
  RecordIndex index(path);
  const auto files = index.files();
  ASSERT_EQ(files.size(), 3U);
  const std::int64_t now = utc_now_ns();
  for (int i = 0; i < 2; ++i) {
    const std::int64_t age = now - files[static_cast<std::size_t>(i)].written;
    EXPECT_GE(age, 0) << i;
    EXPECT_LT(age, 3600 * second) << i;
  }
  EXPECT_EQ(utc_text(files[2].written), an_hour_ago);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
