// What a motion gate keeps in memory, with packets as large as they come; and what a motion meter shows.
#include "app/publisher/recording/motion_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "app/rings/motion_meter.h"
#include "core/metadata_types.h"
#include "ipc/motion_block.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t ms = 1'000'000;
constexpr std::size_t megabyte = std::size_t{1} << 20;

class MotionGates : public testing::Test {
 protected:
  MotionGate::Does take(bool key, float motion = 0) {
    PacketView packet;
    packet.data = data_;
    packet.key = key;
    packet.times.pts = packet.dts = static_cast<std::int64_t>(number_) * 40 * ms;
    packet.metadata.set(MotionScore{.moving = motion});
    return gate_.take(packet, ++number_);
  }
  [[nodiscard]] std::size_t kept_bytes() const {
    std::size_t bytes = 0;
    for (const KeptPacket& packet : gate_.kept()) bytes += packet.view().data.size();
    return bytes;
  }

  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(4 * megabyte);
  MotionGate gate_{std::chrono::seconds(5), std::chrono::seconds(1)};
  std::uint64_t number_ = 0;
};

TEST_F(MotionGates, KeepNoMoreThanTheMemoryIsWorth) {
  for (int i = 0; i < 60; ++i) {
    take(i % 10 == 0);
    EXPECT_LE(kept_bytes(), 128 * megabyte);
  }
  EXPECT_GE(kept_bytes(), 80 * megabyte);
  EXPECT_EQ(take(false, 0.5F), MotionGate::Does::begin);
}

TEST_F(MotionGates, KeepNothingOfAGroupThatIsTooLong) {
  take(true);
  for (int i = 0; i < 60; ++i) {
    take(false);
    EXPECT_LE(kept_bytes(), 128 * megabyte);
  }
  EXPECT_EQ(take(false, 0.5F), MotionGate::Does::nothing) << "it could not be decoded";
  EXPECT_EQ(take(true, 0.5F), MotionGate::Does::begin);
  EXPECT_EQ(gate_.kept().size(), 1U);
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(take(false, 0.5F), MotionGate::Does::go_on);
    EXPECT_LE(kept_bytes(), 128 * megabyte);
  }
}

// What a packet takes beside its data counts, too.
TEST_F(MotionGates, KeepNothingOfAGroupOfTooManyTinyPictures) {
  data_.resize(1);
  take(true);
  std::size_t most = 0;
  for (int i = 0; i < 1'500'000; ++i) {
    take(false);
    most = std::max(most, gate_.kept().size());
  }
  EXPECT_LE(most * sizeof(KeptPacket), 128 * megabyte);
  EXPECT_EQ(take(true, 0.5F), MotionGate::Does::begin);
}

TEST(MotionMeters, ShowTheMostOfTheLastTwoSeconds) {
  MotionBlock block{};
  MotionMeter meter(block);
  const auto take = [&](std::int64_t at_ms, float score) {
    FrameMetadata frame;
    frame.set(MotionScore{0, score, 0.01F});
    meter.take(frame, at_ms * ms);
  };
  take(0, 0.002F);
  EXPECT_EQ(block.score, 0.002F);
  EXPECT_EQ(block.threshold, 0.01F);
  take(40, 0.3F);
  for (std::int64_t at = 80; at <= 2040; at += 40) {
    take(at, 0.001F);
    EXPECT_EQ(block.score, 0.3F) << at;
  }
  for (std::int64_t at = 2080; at <= 3000; at += 40) take(at, 0.001F);
  meter.take({}, 3040 * ms);  // a frame without a score
  EXPECT_EQ(block.score, 0.001F);
  EXPECT_EQ(block.largest, 0.3F);
  take(60'000, 0);
  EXPECT_EQ(block.score, 0) << "after a pause";
  take(0, 0.001F);
  EXPECT_EQ(block.score, 0.001F) << "a clip begins again";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
