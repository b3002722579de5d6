// What an index may say that somebody has edited.
#include "app/record_index.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/clock.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(RecordTime, IsTheSameWhenItIsReadAgain) {
  for (const char* text : {"2026-11-21T10:15:30.250Z", "1970-01-01T00:00:00.001Z", "2261-12-31T23:59:59.999Z"})
    EXPECT_EQ(utc_text(utc_from_text(text).value_or(0)), text);
  for (int ms = 0; ms < 1000; ++ms) {
    const std::int64_t time = 1'795'256'130 * second + ms * (second / 1000);
    EXPECT_EQ(utc_from_text(utc_text(time)), time);
  }
}

TEST(RecordTime, ThatDoesNotFitIsNone) {
  for (const char* text : {"9999-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z", "2262-01-01T00:00:00.000Z",
                           "-2147483648-2147483647-21T10:15:30.250Z", "0000-01-01T00:00:00.000Z", ""})
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

// A box without a battery for its clock begins in 1970, until it has asked the network.
TEST(RecordIndex, FilesOfATimeThatCannotBeAreAsOldAsIsKnown) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "dock.index.jsonl";
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4"}) std::ofstream(folder.path() / name) << "12345";
  std::ofstream(path) << end_of("a.mp4", "1970-01-01T00:05:00.000Z") << end_of("b.mp4", "2200-01-01T00:00:00.000Z")
                      << end_of("c.mp4", "2026-01-01T00:00:00.000Z");
  RecordIndex index(path);
  const auto files = index.files();
  ASSERT_EQ(files.size(), 3U);
  const std::int64_t now = utc_now_ns();
  for (int i = 0; i < 2; ++i) {
    const std::int64_t age = now - files[static_cast<std::size_t>(i)].written;
    EXPECT_GE(age, 0) << i;
    EXPECT_LT(age, 3600 * second) << i;
  }
  EXPECT_EQ(utc_text(files[2].written), "2026-01-01T00:00:00.000Z");
}

}  // namespace
}  // namespace campipe
