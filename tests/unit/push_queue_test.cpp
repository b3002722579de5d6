#include "stages/sinks/push_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

// Packets of 100 bytes, a second apart. "K" is a key frame, "a" is audio.
class PushQueues : public testing::Test {
 protected:
  // Returns how many were lost for it.
  std::uint64_t add(PushQueue& queue, char kind, int size = 100) {
    PushPacket packet;
    packet.data = make_av_packet();
    av_check(av_new_packet(packet.data.get(), size), "packet");
    packet.dts = next_++ * 1'000'000'000;
    packet.key = kind == 'K';
    packet.audio = kind == 'a';
    packet.stream = stream_;
    return queue.add(std::move(packet));
  }
  std::uint64_t add_all(PushQueue& queue, const std::string& kinds) {
    std::uint64_t lost = 0;
    for (const char kind : kinds) lost += add(queue, kind);
    return lost;
  }
  // What is in it, as the seconds of its packets.
  static std::string take_all(PushQueue& queue) {
    std::string seconds;
    while (!queue.empty()) seconds += std::to_string(queue.take().dts / 1'000'000'000) + " ";
    return seconds;
  }

  std::int64_t next_ = 0;
  std::shared_ptr<const PushStream> stream_ = std::make_shared<const PushStream>();
};

TEST_F(PushQueues, BeginAtAKeyFrame) {
  PushQueue queue(10'000, 100s);
  EXPECT_EQ(add_all(queue, "ddKdd"), 2U);
  EXPECT_EQ(take_all(queue), "2 3 4 ");
  EXPECT_EQ(add_all(queue, "d"), 0U) << "what it needs has been taken out, not lost";
}

TEST_F(PushQueues, BeginWithAPictureAndDropAudioWithItsGroup) {
  PushQueue queue(500, 100s);
  EXPECT_EQ(add_all(queue, "aaKad"), 2U);
  EXPECT_EQ(add_all(queue, "aKa"), 4U);
  EXPECT_EQ(take_all(queue), "6 7 ");
}

TEST_F(PushQueues, DropTheOldestGroupsForBytes) {
  PushQueue queue(500, 100s);
  EXPECT_EQ(add_all(queue, "KddKd"), 0U);
  EXPECT_EQ(add_all(queue, "d"), 3U);
  EXPECT_EQ(take_all(queue), "3 4 5 ");
}

TEST_F(PushQueues, DropTheOldestGroupsForTime) {
  PushQueue queue(10'000, 4s);
  EXPECT_EQ(add_all(queue, "KddKd"), 0U);
  EXPECT_EQ(add_all(queue, "d"), 3U);
  EXPECT_EQ(take_all(queue), "3 4 5 ");
}

TEST_F(PushQueues, DropTheRestOfAGroupThatIsTooLong) {
  PushQueue queue(300, 100s);
  EXPECT_EQ(add_all(queue, "Kddd"), 4U);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(add_all(queue, "dddK"), 3U);
  EXPECT_EQ(take_all(queue), "7 ");
}

TEST_F(PushQueues, DropAPacketThatIsLargerThanAllRoom) {
  PushQueue queue(300, 100s);
  EXPECT_EQ(add(queue, 'K', 1000), 1U);
  EXPECT_EQ(add_all(queue, "dK"), 1U);
  EXPECT_EQ(take_all(queue), "2 ");
}

TEST_F(PushQueues, DropWhatNeedsALostPacket) {
  PushQueue queue(10'000, 100s);
  EXPECT_EQ(add_all(queue, "Kd"), 0U);
  queue.lose();
  EXPECT_EQ(add_all(queue, "ddK"), 2U);
  EXPECT_EQ(take_all(queue), "0 1 4 ");
}

TEST_F(PushQueues, BeginAnewWithAnotherStream) {
  PushQueue queue(10'000, 100s);
  EXPECT_EQ(add_all(queue, "Kd"), 0U);
  stream_ = std::make_shared<const PushStream>();
  EXPECT_EQ(add_all(queue, "dKd"), 1U);
  EXPECT_EQ(take_all(queue), "0 1 3 4 ");
}

TEST_F(PushQueues, SkipToAKeyFrameForANewReceiver) {
  PushQueue queue(10'000, 100s);
  EXPECT_EQ(add_all(queue, "KdddKd"), 0U);
  EXPECT_EQ(queue.drop_to_key(), 0U);
  queue.take();
  EXPECT_EQ(queue.drop_to_key(), 3U);
  queue.take();
  EXPECT_EQ(queue.drop_to_key(), 1U);
  EXPECT_EQ(add_all(queue, "dK"), 1U);
  EXPECT_EQ(queue.clear(), 1U);
  EXPECT_EQ(add_all(queue, "dK"), 1U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
