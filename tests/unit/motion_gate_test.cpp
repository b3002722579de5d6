// What a motion gate keeps in memory, with packets as large as they come.
#include "app/motion_gate.h"

#include <gtest/gtest.h>

#include <vector>

namespace campipe {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::size_t megabyte = std::size_t{1} << 20;

class MotionGates : public testing::Test {
 protected:
  MotionGate::Does take(bool key, float motion = 0) {
    PacketView packet;
    packet.data = data_;
    packet.key = key;
    packet.times.pts = packet.dts = static_cast<std::int64_t>(number_) * 40 * ms;
    packet.times.motion = motion;
    return gate_.take(packet, ++number_);
  }
  [[nodiscard]] std::size_t kept_bytes() const {
    std::size_t bytes = 0;
    for (const KeptPacket& packet : gate_.kept()) bytes += packet.size();
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

}  // namespace
}  // namespace campipe
