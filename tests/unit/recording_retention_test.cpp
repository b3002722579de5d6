// Which of a recording's files are deleted, and when.
#include <gmock/gmock.h>

#include "app/publisher/recording/retention.h"
#include "core/utc_text.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// By the names of the files that are still there.
// But for the lock.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  std::ranges::sort(names);
  return names;
}

class Retention : public RecordingTest {
 protected:
  Retention() { config_.record->segment_duration = std::chrono::seconds(2); }
  void record_another(int i) {
    origin_ += 20 * second;
    const Clip clip = encode(Latency::low, steady(25, i * 20 * second));
    begin();
    take(clip);
    finish();
  }
};

TEST_F(Retention, DeletesTheOldestOnceThereIsTooMuch) {
  for (int i = 0; i < 6; ++i) record_another(i);
  ASSERT_THAT(files_, SizeIs(6));
  std::ofstream(folder() / "dock" / "00-00-00.mp4") << std::string(1'000'000, 'x');
  fs::remove(files_[4]);  // somebody else
  config_.record->max_size = 3 * static_cast<std::int64_t>(fs::file_size(files_[5]));
  record_another(6);
  ASSERT_THAT(files_, SizeIs(7));
  EXPECT_THAT(names_in(folder() / "dock"), ElementsAre("00-00-00.mp4", fs::path(files_[3]).filename().string(),
                                                       fs::path(files_[5]).filename().string(),
                                                       fs::path(files_[6]).filename().string(), "dock.index.jsonl"));
  std::vector<std::string> deleted;
  for (const auto& line : lines_of(index())) {
    if (line.at("event") == "deleted") deleted.push_back(line.at("reason"));
  }
  EXPECT_THAT(deleted, testing::Each("size"));
  EXPECT_THAT(deleted, SizeIs(3));
}

TEST_F(Retention, DeletesWhatIsTooOldAndNotTheOpenFile) {
  RetentionLimits limits{std::chrono::seconds(60), 1, std::nullopt};
  const std::int64_t now = utc_now_ns();
  std::vector<RecordedFile> files;
  for (const char* name : {"old.mp4", "open.mp4", "new.mp4"}) {
    std::ofstream(folder() / name) << "x";
    files.push_back({folder() / name, std::string(name) == "old.mp4" ? now - 61 * second : now, 1});
  }
  const auto by_age =
      enforce_limits({limits.age, std::nullopt, std::nullopt}, folder(), files, OpenFile(folder() / "open.mp4"), now);
  EXPECT_THAT(by_age.gone, SizeIs(1));
  EXPECT_FALSE(fs::exists(folder() / "old.mp4"));
  const auto by_size = enforce_limits(limits, folder(), files, OpenFile(folder() / "open.mp4"), now);
  EXPECT_TRUE(fs::exists(folder() / "open.mp4"));
  EXPECT_FALSE(fs::exists(folder() / "new.mp4"));
  EXPECT_EQ(by_size.problem, "");
}

TEST_F(Retention, NeverBelievesAnIndexThatNamesFilesElsewhere) {
  fs::create_directories(folder() / "dock");
  const fs::path elsewhere = folder() / "elsewhere.mp4";
  std::ofstream(elsewhere) << "x";
  fs::create_directories(folder() / "other");
  std::ofstream(folder() / "other" / "one.mp4") << "x";
  const std::string two_hours_ago = utc_text(utc_now_ns() - 7200 * second);
  fs::create_symlink("../other", folder() / "dock" / "day");
  fs::create_symlink(elsewhere, folder() / "dock" / "link.mp4");
  std::ofstream out(index());
  for (const std::string& name :
       {std::string("../elsewhere.mp4"), elsewhere.string(), std::string("day/one.mp4"), std::string("link.mp4")}) {
    out << nlohmann::json{{"event", "end"},
                          {"file", name},
                          {"start", "2021-01-01T00:00:00.000Z"},
                          {"end", "2021-01-01T00:00:01.000Z"},
                          {"written", two_hours_ago},
                          {"bytes", 1},
                          {"reason", "stopped"}}
               .dump()
        << '\n';
  }
  out << nlohmann::json{{"event", "begin"},
                        {"file", std::string(300, 'x')},
                        {"start", "2021-01-01T00:00:00.000Z"},
                        {"clock", "arrival"}}
             .dump()
      << "\n{\"event\": \"beg";  // cut off
  out.close();
  config_.record->delete_after = std::chrono::hours(1);
  record_another(0);
  EXPECT_TRUE(fs::exists(elsewhere));
  EXPECT_TRUE(fs::exists(folder() / "other" / "one.mp4"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder() / "dock" / "link.mp4"))) << "the link itself may go";
  std::ifstream in(index());
  std::vector<std::string> events;
  for (std::string text; std::getline(in, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (line.is_object() && line.at("file") == fs::path(files_[0]).filename().string())
      events.push_back(line.at("event"));
  }
  EXPECT_THAT(events, ElementsAre("begin", "end")) << "the cut line has spoiled no other";
}

TEST_F(Retention, MakesRoomOnTheDisk) {
  for (int i = 0; i < 3; ++i) record_another(i);
  config_.record->keep_free = std::int64_t{1} << 50U;  // no disk has so much
  // A recording that ends does not wait for it: the next one's may be the first that is in time.
  for (int i = 3; i < 40 && names_in(folder() / "dock").size() > 1; ++i) record_another(i);
  EXPECT_THAT(names_in(folder() / "dock"), ElementsAre("dock.index.jsonl"));
  EXPECT_EQ(lines_of(index()).back().at("reason"), "space");
}

// Five of 1000 bytes each, as the index has them.
class Limits : public testing::Test {
 protected:
  Limits() {
    for (const char* name : {"1.mp4", "2.mp4", "3.mp4", "4.mp4", "5.mp4"}) {
      std::ofstream(folder_.path() / name) << std::string(1000, 'x');
      files_.push_back({folder_.path() / name, utc_now_ns(), 1000});
    }
  }
  [[nodiscard]] RetentionResult enforce(const RetentionLimits& limits, std::optional<std::int64_t> free) const {
    return enforce_limits(limits, folder_.path(), files_, OpenFile(), utc_now_ns(),
                          [free](const PathBelow&) { return free; });
  }
  [[nodiscard]] static std::vector<std::string> names_of(const RetentionResult& result) {
    std::vector<std::string> names;
    for (const auto& gone : result.gone) names.push_back(gone.path.filename().string() + " " + gone.reason);
    return names;
  }

  TemporaryFolder folder_;
  std::vector<RecordedFile> files_;
};

// As where the file system gives room back later, or somebody still reads the file.
TEST_F(Limits, AreMetByWhatIsDeletedWhetherOrNotTheDiskSaysSoAtOnce) {
  EXPECT_THAT(names_of(enforce({{}, {}, 10'000}, 9'200)), ElementsAre("1.mp4 space"));
  EXPECT_THAT(names_in(folder_.path()), SizeIs(4));
}

TEST_F(Limits, OfADiskThatCannotBeAskedDeleteNothing) {
  EXPECT_THAT(names_of(enforce({{}, {}, 10'000}, std::nullopt)), IsEmpty());
  EXPECT_THAT(names_of(enforce({{}, 4'500, 10'000}, std::nullopt)), ElementsAre("1.mp4 size"));
}

TEST_F(Limits, DoNotCountWhatSomebodyElseHasDeleted) {
  fs::remove(folder_.path() / "4.mp4");
  fs::remove(folder_.path() / "5.mp4");
  EXPECT_THAT(names_of(enforce({{}, 3'000, {}}, {})), ElementsAre("4.mp4 missing", "5.mp4 missing"));
}

// The new file is begun while old ones are deleted on another thread. `free` is asked when it is settled which ones.
TEST_F(Limits, AFileThatReplacesOneWhileItIsToBeDeletedStays) {
  OpenFile open;
  const auto result = enforce_limits({{}, {}, 100'000}, folder_.path(), files_, open, utc_now_ns(),
                                     [&](const PathBelow&) -> std::optional<std::int64_t> {
                                       open.set(folder_.path() / "3.mp4");
                                       std::ofstream(folder_.path() / "3.mp4") << "new";
                                       return 0;
                                     });
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("3.mp4"));
  EXPECT_THAT(names_of(result), SizeIs(4));
}

// Its recording names a file before it makes it.
TEST_F(Limits, AFileIsNotDeletedAsLongAsItIsOpen) {
  OpenFile open(folder_.path() / "dock" / ".." / "1.mp4");
  EXPECT_THAT(names_of(enforce_limits({{}, 1, {}}, folder_.path(), files_, open, utc_now_ns())), SizeIs(4));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("1.mp4"));
  open.set({});
  EXPECT_THAT(names_of(enforce_limits({{}, 1, {}}, folder_.path(), {files_[0]}, open, utc_now_ns())), SizeIs(1));
}
}  // namespace
}  // namespace campipe::test
