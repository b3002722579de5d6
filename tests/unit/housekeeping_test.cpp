// The limits of recordings, whether they record or not, and of several on one disk.
#include "app/publisher/recording/housekeeping.h"

#include <gmock/gmock.h>

#include "app/publisher/recording/housekeeper.h"
#include "app/publisher/recording/record_about.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;
using testing::SizeIs;

// Files of 1000 bytes, on a disk that has room for twenty.
class Disk : public testing::Test {
 protected:
  static constexpr std::int64_t size = 1'000;

  [[nodiscard]] fs::path folder(const std::string& camera) const { return folder_.path() / camera; }
  [[nodiscard]] fs::path index(const std::string& camera) const { return folder(camera) / (camera + ".index.jsonl"); }
  [[nodiscard]] std::vector<std::string> files(const std::string& camera) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder(camera))) {
      if (entry.path().extension() == ".mp4") names.push_back(entry.path().stem());
    }
    std::ranges::sort(names);
    return names;
  }
  [[nodiscard]] std::int64_t free() const {
    std::int64_t used = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      used += entry.path().extension() == ".mp4";
    return (20 - used) * size;
  }
  void record(RecordIndex& index, int number) const {
    const fs::path file = index.folder() / (std::to_string(100 + number) + ".mp4");
    fs::create_directories(file.parent_path());
    index.begin({file, utc_now_ns(), false});
    std::ofstream(file) << std::string(size, 'x');
    index.end({utc_now_ns(), second, size, 25, "segment"});
  }
  std::shared_ptr<RecordArchive> recorded(const std::string& camera) {
    auto archive = std::make_shared<RecordArchive>(index(camera), nullptr);
    archive->open({}, {});
    while (!archive->load_some()) continue;
    return archive;
  }

  TemporaryFolder folder_;
};

// One after the other, whichever of them asks first.
TEST_F(Disk, IsSharedByAllThatKeepItFree) {
  Housekeeper housekeeper([this](const PathBelow&) { return free(); });
  std::vector<Housekeeper::Recording> all;
  for (const char* camera : {"a", "b", "c"}) all.push_back({recorded(camera), {{}, {}, 5 * size}, true, {}});
  for (int i = 0; i < 60; ++i) {
    for (Housekeeper::Recording& each : all) {
      each.archive->use([&](RecordIndex& index) { record(index, i); });
      housekeeper.keep(all);
    }
  }
  EXPECT_THAT((std::vector{files("a").size(), files("b").size(), files("c").size()}), Each(AllOf(Ge(4U), Le(6U))));
  EXPECT_EQ(free(), 5 * size);
}

TEST_F(Disk, IsNotFreedByRecordingsWithoutThatLimit) {
  Housekeeper housekeeper([this](const PathBelow&) { return free(); });
  std::vector<Housekeeper::Recording> all{{recorded("a"), {}, true, {}},
                                          {recorded("b"), {{}, 3 * size, {}}, true, {}},
                                          {recorded("c"), {{}, {}, 12 * size}, true, {}}};
  for (int i = 0; i < 4; ++i) {
    for (Housekeeper::Recording& each : all) each.archive->use([&](RecordIndex& index) { record(index, i); });
  }
  housekeeper.keep(all);
  EXPECT_THAT(files("a"), SizeIs(4));
  EXPECT_THAT(files("b"), ElementsAre("101", "102", "103")) << "by its own limit";
  EXPECT_THAT(files("c"), ElementsAre("103"));
}

// Anybody who may make a folder there could have put it there.
TEST_F(Disk, IsKeptFreeForAnIndexOfNoCameraByItsOwnFilesAlone) {
  const auto whole = [](const PathBelow&) { return 20 * size; };
  Housekeeper housekeeper([this](const PathBelow&) { return free(); }, whole);
  std::vector<Housekeeper::Recording> all{{recorded("a"), {{}, {}, 2 * size}, true, {}}, {recorded("b"), {}, true, {}}};
  all[1].is_by_index = true;
  for (int i = 0; i < 4; ++i) {
    for (Housekeeper::Recording& each : all) each.archive->use([&](RecordIndex& index) { record(index, i); });
  }
  RecordAbout about{"b", "main", "b.mp4", "", {{}, {}, 15 * size}};
  all[1].archive->use([&](RecordIndex& index) { index.set_about(about); });
  housekeeper.keep(all);
  EXPECT_THAT(files("a"), SizeIs(4));
  EXPECT_THAT(files("b"), SizeIs(1));
}

TEST_F(Disk, IsNotEmptiedForMoreThanItHas) {
  const auto whole = [](const PathBelow&) { return 20 * size; };
  Housekeeper housekeeper([this](const PathBelow&) { return free(); }, whole);
  std::vector<Housekeeper::Recording> all{{recorded("a"), {{}, {}, 20 * size}, true, {}},
                                          {recorded("b"), {{}, {}, 2 * size}, true, {}}};
  for (int i = 0; i < 4; ++i) {
    for (Housekeeper::Recording& each : all) each.archive->use([&](RecordIndex& index) { record(index, i); });
  }
  housekeeper.keep(all);
  EXPECT_THAT(files("a"), SizeIs(4));
  EXPECT_THAT(files("b"), SizeIs(4));
}

// As where somebody still reads what was deleted.
TEST_F(Disk, ThatFreesRoomLateIsNotEmptiedMeanwhile) {
  Housekeeper housekeeper([](const PathBelow&) { return 3 * size; });
  std::vector<Housekeeper::Recording> all{{recorded("a"), {{}, {}, 5 * size}, true, {}}};
  for (int i = 0; i < 9; ++i) all[0].archive->use([&](RecordIndex& index) { record(index, i); });
  for (int i = 0; i < 5; ++i) housekeeper.keep(all);
  EXPECT_THAT(files("a"), SizeIs(7));
}

TEST_F(Disk, ThatCannotBeAskedLosesNothing) {
  Housekeeper housekeeper([](const PathBelow&) { return std::nullopt; });
  std::vector<Housekeeper::Recording> all{{recorded("a"), {{}, {}, 5 * size}, true, {}}};
  all[0].archive->use([&](RecordIndex& index) { record(index, 0); });
  housekeeper.keep(all);
  EXPECT_THAT(files("a"), SizeIs(1));
}

// Recordings that do not record now: their cameras are disabled, stopped or given up.
class Idle : public Disk {
 protected:
  Idle() {
    config_.name = config_.camera = "dock";
    config_.record.emplace();
    config_.record->path = folder_.path() / "{camera}" / "%H-%M-%S.mp4";
    RecordIndex index(this->index("dock"));
    for (int i = 0; i < 5; ++i) record(index, i);
  }
  void keep_until(const std::function<bool()>& condition) {
    const Deadline deadline = Clock::now() + std::chrono::seconds(60);
    while (!condition() && Clock::now() < deadline) {
      house_->tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(condition());
  }

  ResolvedOutput config_;
  std::shared_ptr<Housekeeping> house_ = std::make_shared<Housekeeping>();
};

TEST_F(Idle, RecordingsKeepTheirLimits) {
  config_.record->max_size = 2 * size;
  house_->keep(config_);
  keep_until([&] { return files("dock").size() == 2; });
  EXPECT_THAT(files("dock"), ElementsAre("103", "104"));
  keep_until([&] { return lines_of(index("dock")).back().at("event") == "deleted"; });
  EXPECT_EQ(lines_of(index("dock")).back().at("reason"), "size");
}

TEST_F(Idle, RecordingsKeepTheLimitsThatTheyHadLast) {
  config_.record->delete_after = std::chrono::nanoseconds(1);
  house_->keep(config_);
  config_.record.reset();  // the camera is there without it
  house_->keep(config_);
  keep_until([&] { return files("dock").empty(); });
}

// Of cameras that were removed before the rig was started: their indexes say it.
TEST_F(Idle, RecordingsThatAreFoundKeepTheLimitsThatTheirIndexesHave) {
  ResolvedOutput here = config_;
  config_.record->max_size = 2 * size;
  for (const char* camera : {"dock", "gone"}) {
    config_.name = config_.camera = camera;
    RecordIndex index(this->index(camera), {}, {}, about_of(config_));
    for (int i = 5; i < 8; ++i) record(index, i);
    while (!index.load_some()) continue;
  }
  {
    RecordIndex index(this->index("dock"));
    while (!index.load_some()) continue;
    ASSERT_TRUE(index.about());
    EXPECT_EQ(index.about()->limits.bytes, 2 * size);
    RecordAbout forgotten = *index.about();
    forgotten.limits = {};
    index.set_about(forgotten);
  }
  here.name = here.camera = "here";
  here.record->max_size = std::int64_t{1} << 40U;
  RecordIndex(this->index("here")).begin({folder("here") / "1.mp4", utc_now_ns(), false});
  house_->keep(here);
  keep_until([&] { return files("gone").size() == 2; });
  EXPECT_THAT(files("dock"), SizeIs(8)) << "it was looked at before";
}

TEST_F(Idle, RecordingsAreLeftToTheRigThatRecords) {
  config_.record->max_size = 2 * size;
  RecordLock other(index("dock"));
  other.take();
  ResolvedOutput next = config_;
  next.name = next.camera = "yard";
  {
    RecordIndex index(this->index("yard"));
    for (int i = 0; i < 5; ++i) record(index, i);
  }
  house_->keep(config_);
  house_->keep(next);
  keep_until([&] { return files("yard").size() == 2; });
  EXPECT_THAT(files("dock"), SizeIs(5));
  keep_until([&] {  // another rig may record there
    try {
      RecordLock(index("yard")).take();
      return true;
    } catch (const RecordFileError&) {
      return false;
    }
  });
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
