// Rings that were replaced are kept for their readers, and go: at once where those are done, in the end where one died.
#include "app/rings/retired_rings.h"

#include <gtest/gtest.h>

#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr auto moment = milliseconds(1);

class RetiredRing : public testing::Test {
 protected:
  RetiredRing() {
    FrameRingSpec spec;
    spec.slot_bytes = picture_bytes;
    auto writer = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
    const auto memory = reopen(writer->memory(), FrameRingMemory::Role::reader);
    reader_ = std::make_unique<FrameRingReader>(memory, 0);
    reserve_seat(memory, 0);
    reader_->attach(false, 4);
    EXPECT_TRUE(write_frame(*writer, 1));
    EXPECT_EQ(reader_->next(lease_, after(seconds(30))), FrameRingReader::Next::frame);
    writer->close();
    ring_ = writer;
    retired_.add(std::move(writer), since_);
  }
  bool is_kept(Clock::duration age) {
    retired_.drop_old(since_ + age);
    return !ring_.expired();
  }

  const Clock::time_point since_ = Clock::now();
  RetiredRings retired_;
  std::weak_ptr<FrameRingWriter> ring_;
  std::unique_ptr<FrameRingReader> reader_;
  FrameRingReader::Lease lease_;
};

TEST_F(RetiredRing, GoesWhenItsReaderIsDone) {
  lease_ = {};
  EXPECT_TRUE(is_kept(RetiredRings::kept_for)) << "a worker that was restarted may still get to see it";
  EXPECT_FALSE(is_kept(RetiredRings::kept_for + moment));
}

TEST_F(RetiredRing, StaysWhileItsReaderHasAFrame) {
  EXPECT_TRUE(is_kept(RetiredRings::kept_at_most));
  lease_ = {};
  EXPECT_FALSE(is_kept(RetiredRings::kept_at_most));
}

TEST_F(RetiredRing, GoesInTheEndThoughItsReaderDiedWithAFrame) {
  EXPECT_TRUE(is_kept(RetiredRings::kept_at_most));
  EXPECT_FALSE(is_kept(RetiredRings::kept_at_most + moment));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
