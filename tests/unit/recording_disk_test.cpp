// Recordings on disks that are full, gone or read-only, or whose folder somebody else uses.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "app/publisher/recording/record_index.h"
#include "app/publisher/recording/record_lock.h"
#include "core/clock.h"
#include "tests/unit/peers.h"
#include "tests/unit/read_back.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Before the first failpoint is reached. The index of camera `slow` is on a disk that does not answer, that of `late`
// on one that takes a second the second time.
const bool armed =
    ::setenv("CAMPIPE_FAILPOINT", "index.opening@slow.index.jsonl=hang,index.opening@late.index.jsonl:2=wait1", 1) == 0;

class DiskFaults : public RecordingTest {
 protected:
  ~DiskFaults() override {
    recording_.reset();
    if (mounted_) ::umount2(disk().c_str(), MNT_DETACH);
  }
  [[nodiscard]] fs::path disk() const { return folder() / "disk"; }
  void record_to_disk() {
    fs::create_directories(disk());
    config_.record->path = disk() / "{camera}" / "%H-%M-%S.mp4";
  }
  // A small disk of our own. False: only root may make one.
  bool mount(const std::string& options) {
    record_to_disk();
    mounted_ = ::mount("tmpfs", disk().c_str(), "tmpfs", 0, options.c_str()) == 0;
    return mounted_;
  }
  // One that has room, of which we may use 1 MiB. False: this machine cannot make one.
  bool mount_with_quota() {
    record_to_disk();
    const std::string image = folder() / "image";
    std::ofstream{image};
    fs::resize_file(image, 64 << 20);
    const auto runs = [](const std::vector<std::string>& command) { return Program(command).wait() == 0; };
    mounted_ = runs({"mkfs.btrfs", "--mixed", "--quiet", image}) && runs({"mount", "-o", "loop", image, disk()});
    return mounted_ && runs({"btrfs", "quota", "enable", disk()}) && runs({"btrfs", "qgroup", "limit", "1M", disk()});
  }
  bool remount(unsigned long flags) const {
    return ::mount("tmpfs", disk().c_str(), "tmpfs", MS_REMOUNT | flags, nullptr) == 0;
  }
  [[nodiscard]] std::uint64_t packets_in_files() const {
    std::uint64_t packets = 0;
    for (const std::string& file : files_) packets += packets_of(file).size();
    return packets;
  }

  // On a small disk of our own. Whoever recorded the oldest files, they go: here a camera that does not record now.
  void old_files_make_room() {
    ResolvedOutput old = config_;
    old.name = old.camera = "old";
    old.record->max_size = std::int64_t{1} << 40U;
    std::vector<fs::path> old_files;
    {
      RecordIndex index(disk() / "old" / "old.index.jsonl");
      for (int i = 0; i < 5; ++i) {
        old_files.push_back(disk() / "old" / (std::to_string(i) + ".mp4"));
        index.begin({old_files.back(), utc_now_ns(), false});
        std::ofstream(old_files.back()) << std::string(100'000, 'x');
        index.end({utc_now_ns(), second, 100'000, 25, "segment"});
      }
    }
    house_->keep(old);
    begin();
    take_until(clip_, [&] { return number_ >= 30; });
    std::ofstream(disk() / "ballast") << std::string(2'000'000, 'x');  // as much as fits
    take_until(clip_, [&] { return !fs::exists(old_files[2]); });
    EXPECT_TRUE(fs::exists(old_files[4]));
    finish();
    EXPECT_THAT(paused_, IsEmpty());
    EXPECT_EQ(unrecorded(), 0U);
    ASSERT_THAT(files_, SizeIs(1)) << "it goes into the same file";
    EXPECT_EQ(packets_in_files(), number_);
    EXPECT_EQ(read_back(files_[0]).warnings, 0);
  }

  Clip clip_ = encode(Latency::low, steady(50));
  bool mounted_ = false;
};

TEST_F(DiskFaults, AFullDiskPausesTheRecordingAndHarmsNothing) {
  if (!mount("size=1m")) GTEST_SKIP() << "only root can make a small disk";
  const fs::path ballast = disk() / "ballast";
  begin();
  take_until(clip_, [&] { return files_.size() == 1 && number_ >= 30; });
  std::ofstream(ballast) << std::string(2'000'000, 'x');  // as much as fits
  take_until(clip_, [&] { return !paused_.empty(); });
  EXPECT_THAT(paused_, ElementsAre(HasSubstr("No space left on device")));
  const std::uint64_t before = packets_of(files_[0]).size();
  EXPECT_GT(before, 0U);
  EXPECT_EQ(read_back(files_[0]).warnings, 0);
  const std::uint64_t paused_at = number_;
  take_until(clip_, [&] { return unrecorded() > 2500; });  // 5 s: it is tried again meanwhile
  EXPECT_THAT(paused_, SizeIs(1)) << "told once";
  EXPECT_THAT(files_, SizeIs(1));
  EXPECT_EQ(recording_->safe(), number_) << "what cannot be recorded is given back";
  fs::remove(ballast);
  take_until(clip_, [&] { return !resumed_.empty(); });
  take_until(clip_, [&] { return number_ % 50 == 0; });
  finish();
  EXPECT_THAT(resumed_, ElementsAre(unrecorded()));
  EXPECT_GT(resumed_[0], number_ - paused_at - 1000);
  ASSERT_THAT(files_, SizeIs(2));
  EXPECT_EQ(read_back(files_[0]).warnings, 0);
  EXPECT_EQ(packets_of(files_[0]).size(), before);
  EXPECT_EQ(packets_in_files() + unrecorded(), number_);
  EXPECT_EQ(load_record_progress(state())->recorded, packets_in_files());
  EXPECT_THAT(failed_, IsEmpty());
  std::vector<std::string> reasons;
  for (const auto& line : lines_of(index())) {
    if (line.at("event") == "end") reasons.push_back(line.at("reason"));
  }
  EXPECT_THAT(reasons, ElementsAre("error", "stopped")) << "lines that did not fit are written later";
}

TEST_F(DiskFaults, OldFilesMakeRoomForWhatDoesNotFit) {
  if (!mount("size=1m")) GTEST_SKIP() << "only root can make a small disk";
  old_files_make_room();
}

TEST_F(DiskFaults, OldFilesMakeRoomWhereAQuotaIsUsedUp) {
  if (!mount_with_quota()) GTEST_SKIP() << "only root can make a disk with quotas, with btrfs-progs and a loop device";
  old_files_make_room();
}

TEST_F(DiskFaults, OldFilesMakeRoomForOneMore) {
  if (!mount("size=8m,nr_inodes=20")) GTEST_SKIP() << "only root can make a small disk";
  config_.record->segment_duration = std::chrono::seconds(2);
  config_.record->max_size = std::int64_t{1} << 40U;
  begin();
  take_until(clip_, [&] { return files_.size() == 40; });
  finish();
  EXPECT_THAT(paused_, IsEmpty());
  EXPECT_EQ(unrecorded(), 0U);
  EXPECT_FALSE(fs::exists(files_[0]));
  EXPECT_TRUE(fs::exists(files_[30]));
}

TEST_F(DiskFaults, ADiskWithoutInodesIsNamed) {
  if (!mount("size=8m,nr_inodes=6")) GTEST_SKIP() << "only root can make a small disk";
  config_.record->segment_duration = std::chrono::seconds(2);
  begin();
  take_until(clip_, [&] { return !paused_.empty(); });
  EXPECT_THAT(paused_, ElementsAre(HasSubstr("no inodes left")));
}

TEST_F(DiskFaults, AFileThatMayNotGrowIsFollowedByAnother) {
  const rlimit old = [] {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    return limit;
  }();
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{200'000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  begin();
  take_until(clip_, [&] { return files_.size() == 3; });
  finish();
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_THAT(paused_, testing::Each(HasSubstr("File too large")));
  EXPECT_THAT(resumed_, testing::Each(testing::Lt(100U))) << "a group of pictures or two";
  EXPECT_EQ(packets_in_files() + unrecorded(), number_);
}

TEST_F(DiskFaults, RetentionMakesRoom) {
  if (!mount("size=1m")) GTEST_SKIP() << "only root can make a small disk";
  config_.record->segment_duration = std::chrono::seconds(2);
  config_.record->max_size = 500'000;
  begin();
  take_until(clip_, [&] { return files_.size() == 60; });
  finish();
  EXPECT_THAT(paused_, IsEmpty());
  EXPECT_FALSE(fs::exists(files_[0]));
  EXPECT_TRUE(fs::exists(files_[59]));
}

// A housekeeper for each disk.
TEST_F(DiskFaults, ADiskThatDoesNotAnswerHoldsUpNoOtherOne) {
  ASSERT_TRUE(armed);
  if (!mount("size=8m")) GTEST_SKIP() << "only root can make a small disk";
  ResolvedOutput slow = config_;
  slow.name = slow.camera = "slow";
  slow.record->path = folder() / "{camera}" / "%H-%M-%S.mp4";
  slow.record->max_size = 1;
  fs::create_directories(folder() / "slow");
  std::ofstream(folder() / "slow" / "slow.index.jsonl").close();
  house_->keep(slow);
  config_.record->max_size = 1;
  for (unsigned i = 1; i <= 3; ++i) {
    begin();
    take(clip_);
    finish();
    ASSERT_THAT(files_, SizeIs(i));
    EXPECT_FALSE(fs::exists(files_.back()));
  }
}

TEST_F(DiskFaults, AReadOnlyDiskIsWaitedFor) {
  if (!mount("size=8m")) GTEST_SKIP() << "only root can make a small disk";
  begin();
  take_until(clip_, [&] { return number_ == 30; });
  die();  // no file is open, so that it can be made read-only
  ASSERT_TRUE(remount(MS_RDONLY));
  begin();
  take_until(clip_, [&] { return !paused_.empty(); });
  EXPECT_THAT(paused_, ElementsAre(HasSubstr("Read-only file system")));
  ASSERT_TRUE(remount(0));
  take_until(clip_, [&] { return !resumed_.empty(); });
  finish();
  EXPECT_THAT(files_, SizeIs(2));
}

TEST_F(DiskFaults, AVanishedFolderIsMadeAnew) {
  begin();
  take_until(clip_, [&] { return number_ == 30; });
  fs::remove_all(folder() / "dock");
  take_until(clip_, [&] { return !resumed_.empty(); });
  finish();
  EXPECT_THAT(paused_, ElementsAre(HasSubstr("is gone")));
  ASSERT_THAT(files_, SizeIs(2));
  EXPECT_EQ(packets_of(files_[1]).size() + 20 + unrecorded(), number_);
  EXPECT_EQ(lines_of(index()).back().at("event"), "end");
}

TEST_F(DiskFaults, AMovedFileIsLeftAlone) {
  begin();
  take_until(clip_, [&] { return number_ == 15; });
  fs::rename(files_[0], folder() / "kept.mp4");
  std::ofstream(files_[0]) << "somebody else's";
  take_until(clip_, [&] { return !resumed_.empty(); });
  finish();
  EXPECT_EQ(fs::file_size(files_[0]), 15U);
  EXPECT_EQ(packets_of(folder() / "kept.mp4").size(), 10U);
}

// As on a network disk whose server is gone: who opens the index waits for ever.
TEST_F(DiskFaults, AnIndexThatDoesNotAnswerIsNotWaitedFor) {
  ASSERT_TRUE(armed);
  config_.name = "slow";
  begin();
  take(clip_);
  recording_->finish();
  const Deadline deadline = Clock::now() + std::chrono::seconds(30);
  while (!recording_->at_rest() && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(recording_->at_rest());
  recording_.reset();
  ASSERT_THAT(files_, SizeIs(1));
  EXPECT_THAT(packets_of(files_[0]), SizeIs(clip_.packets.size()));
  EXPECT_THAT(paused_, IsEmpty());
}

// A file's end is in the state until the next one has ended. If the publisher, started again, died before it was in the
// index, no successor could write it.
TEST_F(DiskFaults, AnEndIsInTheIndexBeforeTheStateHasTheNextOne) {
  ASSERT_TRUE(armed);
  config_.name = "late";
  config_.record->path = folder() / "{camera}" / "%H-%M-%S.mp4";
  config_.record->segment_duration = std::chrono::seconds(2);
  const Clip clip = encode(Latency::low, steady(150));
  begin();
  take(clip, 0, 60);  // the first file ends at 1.6 s
  recording_->commit();
  die();
  std::ofstream(index()).close();  // nothing of it was written
  ASSERT_THAT(files_, SizeIs(2));
  begin();
  take(clip, 60, 110);  // the second one at 3.6 s
  ASSERT_EQ(load_ended_file(state())->path, files_[1]);
  const auto lines = lines_of(index());
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[1].at("event"), "end");
  EXPECT_EQ(lines[1].at("file"), fs::path(files_[0]).filename().string());
  EXPECT_EQ(lines[1].at("packets"), 40);
  finish();
}

class TwoRigs : public RecordingTest {
 protected:
  [[nodiscard]] fs::path lock() const { return index().parent_path() / ".dock.index.lock"; }

  Clip clip_ = encode(Latency::low, steady(50));
};

TEST_F(TwoRigs, TheSecondOnePausesUntilTheFirstHasEnded) {
  config_.record->max_size = 1;  // it would delete what the other one has
  begin();
  take(clip_, 0, 20);
  recording_->commit();
  rest();
  while (lines_of(index()).size() < 2) std::this_thread::yield();  // of the file, and of the limits
  const auto lines = lines_of(index());
  auto first = std::move(recording_);
  const RigPage first_page = std::move(page_);
  page_ = RigPage::create(1);
  begin();
  EXPECT_THAT(paused_, ElementsAre(HasSubstr("has not come to its end yet"))) << "it is this process";
  take_until(clip_, [&] { return unrecorded() > 2500; });  // 5 s: it is tried again meanwhile
  EXPECT_THAT(paused_, SizeIs(1)) << "told once";
  EXPECT_THAT(files_, SizeIs(1));
  EXPECT_EQ(lines_of(index()), lines);
  EXPECT_TRUE(fs::exists(files_[0]));
  std::swap(first, recording_);
  finish();
  std::swap(first, recording_);
  take_until(clip_, [&] { return !resumed_.empty(); });
  finish();
  EXPECT_THAT(files_, SizeIs(2));
  EXPECT_THAT(failed_, IsEmpty());
}

// A publisher that is killed gives way to its successor at once.
TEST_F(TwoRigs, TheLockOfADeadProcessIsFree) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t other = ::fork();
  if (other == 0) {
    RecordLock lock(index());
    lock.take();
    static_cast<void>(::write(write_end.get(), "x", 1) == 1);
    for (;;) ::pause();
  }
  char taken = 0;
  EXPECT_EQ(::read(read_end.get(), &taken, 1), 1);
  try {
    RecordLock(index()).take();
    ADD_FAILURE() << "it was taken twice";
  } catch (const RecordFileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("another rig (process " + std::to_string(::getpid()) + " on "))
        << "it started it";
  }
  ::kill(other, SIGKILL);
  begin();
  EXPECT_THAT(paused_, IsEmpty());
  take(clip_);
  finish();
  EXPECT_THAT(files_, SizeIs(1));
  EXPECT_EQ(::waitpid(other, nullptr, 0), other);
}

// As on a network disk without locks.
TEST_F(TwoRigs, WithoutALockItIsRecorded) {
  fs::create_directories(lock());
  begin();
  take(clip_);
  finish();
  EXPECT_THAT(paused_, IsEmpty());
  EXPECT_THAT(files_, SizeIs(1));
}

// With the folder, somebody has deleted the lock: whoever comes next would find a free one.
TEST_F(TwoRigs, ALockThatIsGoneIsTakenAgain) {
  begin();
  take(clip_, 0, 20);
  fs::remove(lock());
  Clip other = clip_;
  ++other.parameters.format.width;  // another stream: a new file
  take(other, 20);
  EXPECT_THAT(files_, SizeIs(2));
  EXPECT_THROW(RecordLock(index()).take(), RecordFileError);
  finish();
  EXPECT_NO_THROW(RecordLock(index()).take());
}

TEST_F(DiskFaults, MotionsAreToldOfEvenWhereTheyCannotBeRecorded) {
  if (!mount("size=64k")) GTEST_SKIP() << "only root can make a small disk";
  config_.record->when = RecordWhen::motion;
  config_.record->after = std::chrono::seconds(1);
  std::ofstream(disk() / "ballast") << std::string(100'000, 'x');
  for (Packet& packet : clip_.packets) packet.set_motion(0);
  clip_.packets[12].set_motion(0.5F);
  begin();
  take(clip_);
  finish();
  EXPECT_THAT(paused_, SizeIs(1));
  ASSERT_THAT(motions_, SizeIs(2));
  EXPECT_EQ(motions_[0].file, "");
  EXPECT_FALSE(motions_[1].begins);
  EXPECT_GT(unrecorded(), 0U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
