// Which of a recording's files are deleted, and when.
#include <gmock/gmock.h>

#include "app/publisher/recording/housekeeper.h"
#include "app/publisher/recording/retention.h"
#include "core/utc_text.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

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

// As after a power cut. What lies there besides, and only has such a name or such a beginning, is somebody else's.
TEST_F(Retention, FindsFilesThatTheIndexHasLost) {
  for (const char* ending : {"mp4", "mkv"}) {
    files_.clear();
    page_ = RigPage::create(1);
    config_.record->path = folder() / ending / "{camera}" / "%Y" / ("%H-%M-%S." + std::string(ending));
    config_.record->max_size.reset();
    for (int i = 0; i < 4; ++i) record_another(i);
    ASSERT_THAT(files_, SizeIs(4));
    const auto lines = lines_of(index());
    std::ofstream out(index());
    for (std::size_t i = 2; i < 4; ++i) out << lines[i] << '\n';  // those of the second file
    out << std::string(100, '\0');
    out.close();
    const fs::path year = fs::path(files_[0]).parent_path();
    std::ofstream(year / ("00-00-00." + std::string(ending))) << std::string(1'000'000, 'x');
    fs::copy_file(files_[0], year / ("00-00-01." + std::string(ending)));
    fs::copy_file(files_[0], year.parent_path() / fs::path(files_[0]).filename());
    page_ = RigPage::create(1);  // else the last one is known from there
    begin();
    finish();
    std::vector<std::string> found;
    std::ifstream in(index());
    for (std::string text; std::getline(in, text);) {
      const auto line = nlohmann::json::parse(text, nullptr, false);
      if (!line.is_object() || line.value("reason", "") != "found") continue;
      found.push_back(index().parent_path() / line.at("file"));
      EXPECT_EQ(line.at("bytes"), fs::file_size(found.back()));
    }
    EXPECT_THAT(found, testing::UnorderedElementsAre(files_[0], files_[2], files_[3])) << ending;
    config_.record->max_size = static_cast<std::int64_t>(fs::file_size(files_[2]) + fs::file_size(files_[3]) + 1000);
    record_another(4);
    ASSERT_THAT(files_, SizeIs(5));
    EXPECT_THAT(names_in(year), testing::UnorderedElementsAre(
                                    "00-00-00." + std::string(ending), "00-00-01." + std::string(ending),
                                    fs::path(files_[3]).filename().string(), fs::path(files_[4]).filename().string()))
        << "the oldest go first";
  }
}

// It is made before its line is written.
TEST_F(Retention, LeavesTheFileThatIsBeingMadeToItsLine) {
  const Clip clip = encode(Latency::low, steady(2));
  constexpr std::int64_t utc = 1'767'323'045;
  const fs::path own = expand_record_path(config_.record->path, "dock", "main", utc);
  const auto recorder = Recorder::create(in_own_folder(own), clip.parameters, {}, {0, utc * second});
  for (const Packet& packet : clip.packets) recorder->write(packet.view());
  recorder->flush();
  const OpenFile open(own);
  EXPECT_THAT(RecordIndex(index(), {}, {}, about_of(config_), &open).files(), IsEmpty());
  EXPECT_THAT(lines_of(index()), SizeIs(0));
  EXPECT_THAT(RecordIndex(index(), {}, {}, about_of(config_)).files(), SizeIs(1)) << "else it would have been taken in";
}

// The power went between the header and the first frame.
TEST_F(Retention, DeletesFilesWithoutAFrameThatTheIndexHasLost) {
  const Clip clip = encode(Latency::low, steady(2));
  constexpr std::int64_t utc = 1'767'323'045;
  for (const char* ending : {"mp4", "mkv"}) {
    config_.record->path = folder() / ending / "{camera}" / ("%H-%M-%S." + std::string(ending));
    const auto make = [&](const fs::path& file) {
      Recorder::create(in_own_folder(file), clip.parameters, {}, {0, utc * second})->flush();
      ASSERT_TRUE(fs::exists(file));
    };
    const fs::path own = expand_record_path(config_.record->path, "dock", "main", utc);
    const fs::path named_otherwise = own.parent_path() / ("00-00-00." + std::string(ending));
    make(own);
    make(named_otherwise);
    page_ = RigPage::create(1);
    begin();
    finish();
    EXPECT_FALSE(fs::exists(own)) << own;
    EXPECT_TRUE(fs::exists(named_otherwise)) << "it is somebody else's";
  }
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
    if (line.is_object() && line.value("file", "") == fs::path(files_[0]).filename().string())
      events.push_back(line.at("event"));
  }
  EXPECT_THAT(events, ElementsAre("begin", "end")) << "the cut line has spoiled no other";
}

TEST_F(Retention, MakesRoomOnTheDisk) {
  for (int i = 0; i < 3; ++i) record_another(i);
  config_.record->keep_free = *whole_space(in_own_folder(index())) - 1;  // no disk is so empty
  record_another(3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(fs::exists(files_[static_cast<std::size_t>(i)]));
  const auto is_for_space = [](const auto& line) { return line.value("reason", "") == "space"; };
  EXPECT_GE(std::ranges::count_if(lines_of(index()), is_for_space), 3);
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
  [[nodiscard]] RetentionResult enforce(std::int64_t bytes, const OpenFile& open = OpenFile()) const {
    return enforce_limits({{}, bytes, {}}, folder_.path(), files_, open, utc_now_ns());
  }
  [[nodiscard]] static std::vector<std::string> names_of(const RetentionResult& result) {
    std::vector<std::string> names;
    for (const auto& gone : result.gone) names.push_back(gone.path.filename().string() + " " + gone.reason);
    return names;
  }

  TemporaryFolder folder_;
  std::vector<RecordedFile> files_;
};

TEST_F(Limits, DoNotCountWhatSomebodyElseHasDeleted) {
  fs::remove(folder_.path() / "4.mp4");
  fs::remove(folder_.path() / "5.mp4");
  EXPECT_THAT(names_of(enforce(3'000)), ElementsAre("4.mp4 missing", "5.mp4 missing"));
}

// What somebody else has put there stays, and the folder of the index.
TEST_F(Limits, FoldersThatBecomeEmptyGoToo) {
  std::vector<RecordedFile> files;
  for (const char* name : {"2026/01/a.mp4", "2026/01/b.mp4", "2026/02/c.mp4", "2026/03/d.mp4"}) {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << "x";
    files.push_back({folder_.path() / name, 0, 1});
  }
  std::ofstream(folder_.path() / "2026" / "02" / "note.txt") << "x";
  const RetentionLimits old{std::chrono::hours(1), {}, {}};
  enforce_limits(old, folder_.path(), {files.begin(), files.begin() + 3}, OpenFile(), utc_now_ns());
  EXPECT_THAT(names_in(folder_.path() / "2026"), ElementsAre("02", "03"));
  fs::remove_all(folder_.path() / "2026" / "02");
  enforce_limits(old, folder_.path(), {files[3]}, OpenFile(), utc_now_ns());
  EXPECT_FALSE(fs::exists(folder_.path() / "2026"));
  EXPECT_TRUE(fs::exists(folder_.path()));
}

// Its recording names a file before it makes it.
TEST_F(Limits, AFileIsNotDeletedAsLongAsItIsOpen) {
  OpenFile open(folder_.path() / "dock" / ".." / "1.mp4");
  EXPECT_THAT(names_of(enforce(1, open)), SizeIs(4));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("1.mp4"));
  open.set({});
  EXPECT_THAT(names_of(enforce(1, open)), SizeIs(5)) << "four of them are missing";
}

// Of two recordings in one folder: the first one has the older files.
class Room : public Limits {
 protected:
  [[nodiscard]] GivingWay files(std::initializer_list<int> which, const OpenFile& open) const {
    GivingWay some{folder_.path(), {}, &open};
    for (const int i : which) some.files.push_back(files_.at(static_cast<std::size_t>(i) - 1));
    return some;
  }
  void SetUp() override {
    for (std::size_t i = 0; i < files_.size(); ++i) files_[i].written += static_cast<std::int64_t>(i) * second;
  }
  OpenFile none_;
};

TEST_F(Room, IsMadeOfTheOldestFilesOfAll) {
  std::vector<GivingWay> all{files({2, 5}, none_), files({1, 3, 4}, none_)};
  EXPECT_EQ(remove_oldest(all, 2'500), 3'000);
  EXPECT_THAT(names_of(all[0].result), ElementsAre("2.mp4 space"));
  EXPECT_THAT(names_of(all[1].result), ElementsAre("1.mp4 space", "3.mp4 space"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("4.mp4", "5.mp4"));
}

// Nor does one that is open, or one that somebody else has deleted, make room.
TEST_F(Room, IsNotMadeOfFilesThatStayOrAreGone) {
  fs::remove(folder_.path() / "2.mp4");
  const OpenFile open(folder_.path() / "1.mp4");
  std::vector<GivingWay> all{files({1, 2, 3, 4, 5}, open)};
  EXPECT_EQ(remove_oldest(all, 1'000), 1'000);
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("1.mp4", "4.mp4", "5.mp4"));
}
}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
