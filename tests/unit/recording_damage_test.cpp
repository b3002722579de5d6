// Damaged packets, of which a file would hold no frame: they are left out, and counted as what is in no file.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::SizeIs;

using DamagedPackets = RecordingTest;

TEST_F(DamagedPackets, WithoutAFrameAreNotRecorded) {
  const Clip clip = encode(Latency::low, steady(30));
  begin();
  for (std::size_t i = 0; i < clip.packets.size(); ++i) {
    take(clip.packets[i], clip.parameters);
    if (i % 10 != 5) continue;
    Packet damaged = clip.packets[i];
    damaged.data.assign(500, 0x55);
    damaged.key = false;
    take(damaged, clip.parameters);
  }
  finish();
  ASSERT_THAT(files_, SizeIs(1));
  EXPECT_EQ(packets_of(files_[0]).size(), clip.packets.size());
  EXPECT_EQ(load_record_progress(state())->recorded, clip.packets.size());
  EXPECT_EQ(unrecorded(), 3U);
  EXPECT_EQ(lines_of(index()).back().at("packets"), clip.packets.size());
}

TEST_F(DamagedPackets, AloneLeaveNoFile) {
  const Clip clip = encode(Latency::low, steady(3));
  begin();
  for (Packet packet : clip.packets) {
    packet.data.assign(500, 0x55);
    take(packet, clip.parameters);
  }
  finish();
  EXPECT_EQ(load_record_progress(state())->recorded, 0U);
  EXPECT_EQ(unrecorded(), clip.packets.size());
  ASSERT_THAT(files_, SizeIs(1));
  EXPECT_FALSE(std::filesystem::exists(files_[0]));
  EXPECT_EQ(lines_of(index()).back().at("reason"), "empty");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
