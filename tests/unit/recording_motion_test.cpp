// Recordings of what moves.
#include <gmock/gmock.h>

#include "tests/unit/read_back.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;

class MotionRecording : public RecordingTest {
 protected:
  MotionRecording() {
    config_.record->when = RecordWhen::motion;
    config_.record->before = std::chrono::milliseconds(1300);
    config_.record->after = std::chrono::seconds(1);
    for (Packet& packet : clip_.packets) packet.set_motion(0);
  }
  void move(int from, int to, float score) {
    for (int i = from; i <= to; ++i) clip_.packets[static_cast<std::size_t>(i)].set_motion(score);
  }
  Clip clip_ = encode(Latency::low, steady(300));  // a key frame every ten
};

TEST_F(MotionRecording, KeepsSecondsBeforeAndAfter) {
  move(100, 110, 0.25F);
  move(105, 105, 0.5F);
  move(130, 130, 0.125F);  // within the second after: it goes on
  begin();
  take(clip_);
  finish();
  ASSERT_THAT(files_, SizeIs(1));
  const auto packets = packets_of(files_[0]);
  EXPECT_TRUE(packets.front().key);
  EXPECT_NEAR(packets.back().pts, 130 * 0.04 + 1 - 0.04 - 60 * 0.04, 0.001)
      << "since the key frame at or before 4.0 - 1.3 s";
  ASSERT_THAT(motions_, SizeIs(2));
  EXPECT_TRUE(motions_[0].begins);
  EXPECT_EQ(motions_[0].score, 0.25F);
  EXPECT_EQ(motions_[0].file, files_[0]);
  EXPECT_NEAR(static_cast<double>(motions_[0].utc - origin_), 4e9, 1e7);
  EXPECT_FALSE(motions_[1].begins);
  EXPECT_EQ(motions_[1].score, 0.5F);
  EXPECT_EQ(motions_[1].file, files_[0]);
  EXPECT_EQ(lines_of(index()).back().at("reason"), "motion over");
  EXPECT_EQ(load_record_progress(state())->recorded, packets.size());
  EXPECT_EQ(unrecorded(), 0U);
}

TEST_F(MotionRecording, EachMotionIsAFile) {
  move(60, 60, 0.1F);
  move(90, 90, 0.1F);    // soon after the end of the first one, and before the next key frame
  move(200, 299, 0.1F);  // until the end
  begin();
  take(clip_);
  EXPECT_EQ(recording_->safe(), 290U);
  finish();
  ASSERT_THAT(files_, SizeIs(3));
  ASSERT_THAT(motions_, SizeIs(6));
  EXPECT_EQ(packets_of(files_[1]).size(), std::size_t{115 - 80})
      << "since the last key frame before the first one's end";
  EXPECT_NEAR(packets_of(files_[2]).back().pts, (299 - 160) * 0.04, 0.001);
  EXPECT_FALSE(motions_[5].begins);
}

TEST_F(MotionRecording, HasSegmentsToo) {
  config_.record->segment_duration = std::chrono::seconds(2);
  move(100, 250, 0.1F);
  begin();
  take(clip_);
  finish();
  EXPECT_THAT(files_, SizeIs(5));
  EXPECT_THAT(motions_, SizeIs(2));
  EXPECT_EQ(motions_[1].file, files_[4]);
}

TEST_F(MotionRecording, GoesOnAfterAPublishersDeath) {
  move(100, 100, 0.25F);
  begin();
  take(clip_, 0, 115);
  const std::uint64_t safe = recording_->safe();
  EXPECT_EQ(safe, 110U);
  die();
  begin();
  number_ = safe;
  take(clip_, safe);
  finish();
  ASSERT_THAT(files_, SizeIs(1));
  const auto packets = packets_of(files_[0]);
  EXPECT_NEAR(packets.back().pts, (100 - 60) * 0.04 + 1 - 0.04, 0.001);
  EXPECT_EQ(packets.size(), std::size_t{125 - 60});
  ASSERT_THAT(motions_, SizeIs(2));
  EXPECT_EQ(motions_[1].score, 0.25F);
}

TEST_F(MotionRecording, ThatIsOverWhenTheSuccessorComesIsEnded) {
  move(100, 100, 0.25F);
  begin();
  take(clip_, 0, 115);
  die();
  begin();
  take(clip_, 200, 210);
  ASSERT_THAT(motions_, SizeIs(2));
  EXPECT_FALSE(motions_[1].begins);
  EXPECT_FALSE(load_record_progress(state())->open);
  finish();
  EXPECT_THAT(files_, SizeIs(1));
  EXPECT_EQ(lines_of(index()).back().at("reason"), "motion over");
}

TEST_F(MotionRecording, ThatIsAlwaysOnHasTheEventsOfMotionToo) {
  config_.record->when = RecordWhen::always;
  config_.record->segment_duration = std::chrono::seconds(2);
  move(100, 110, 0.25F);
  move(105, 105, 0.5F);
  move(130, 130, 0.125F);  // within the second after: it goes on
  move(290, 299, 0.125F);  // until the end
  begin();
  take(clip_);
  const std::vector<std::string> files = files_;
  finish();
  ASSERT_THAT(motions_, SizeIs(4));
  EXPECT_TRUE(motions_[0].begins);
  EXPECT_EQ(motions_[0].score, 0.25F);
  EXPECT_NEAR(static_cast<double>(motions_[0].utc - origin_), 4e9, 1e7);
  EXPECT_FALSE(motions_[1].begins);
  EXPECT_EQ(motions_[1].score, 0.5F);
  EXPECT_NEAR(static_cast<double>(motions_[1].utc - origin_), 6.2e9, 1e7);
  EXPECT_NE(motions_[0].file, motions_[1].file) << "each has the file that is being written";
  EXPECT_TRUE(motions_[2].begins);
  EXPECT_FALSE(motions_[3].begins);
  EXPECT_EQ(motions_[3].score, 0.125F);
  for (const MotionEvent& motion : motions_) EXPECT_THAT(files, testing::Contains(motion.file));
}

// The ring gives the successor the packets again that are in no file.
TEST_F(MotionRecording, ThatIsAlwaysOnGoesOnWithTheMotionOfADeadPublisher) {
  config_.record->when = RecordWhen::always;
  move(100, 104, 0.25F);
  move(102, 102, 0.5F);
  begin();
  take(clip_, 0, 107);
  const std::uint64_t safe = recording_->safe();
  ASSERT_LE(safe, 100U);
  die();
  begin();
  number_ = safe;
  take(clip_, safe);
  finish();
  ASSERT_THAT(motions_, SizeIs(2));
  EXPECT_TRUE(motions_[0].begins);
  EXPECT_FALSE(motions_[1].begins);
  EXPECT_EQ(motions_[1].score, 0.5F);
}

TEST_F(MotionRecording, WithoutMotionNothingIsKept) {
  begin();
  take(clip_);
  EXPECT_EQ(recording_->safe(), clip_.packets.size());
  finish();
  EXPECT_THAT(files_, IsEmpty());
  EXPECT_THAT(motions_, IsEmpty());
  EXPECT_FALSE(fs::exists(index()));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
