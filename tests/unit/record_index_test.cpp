// What an index may say that somebody has edited.
#include "app/record_index.h"

#include <gmock/gmock.h>

#include <fstream>

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
  const RecordIndex index(path, "");
  ASSERT_EQ(index.files().size(), 1U);
  EXPECT_EQ(index.files()[0].path, folder.path() / "a.mp4");
}

}  // namespace
}  // namespace campipe
