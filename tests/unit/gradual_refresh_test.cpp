// Key frames from which on frames are right only gradually.
#include "core/gradual_refresh.h"

#include <gtest/gtest.h>

#include <vector>

#include "app/master/beginning.h"
#include "stages/sources/source.h"
#include "stages/sources/source_config.h"
#include "tests/integration/clips.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

std::vector<int> of_key_frames(const test::ClipSpec& clip) {
  const test::TemporaryFolder folder;
  test::make_clip(folder.path(), clip);
  SourceConfig config;
  config.url = (folder.path() / clip.name).string();
  const auto source = open_source(config, [] { return false; });
  std::vector<int> frames;
  const AvPacket packet = make_av_packet();
  while (source->read(*packet) == ReadResult::packet) {
    if ((packet->flags & AV_PKT_FLAG_KEY) != 0) frames.push_back(frames_until_right(*source->stream().codec, *packet));
    av_packet_unref(packet.get());
  }
  return frames;
}

TEST(GradualRefresh, IsSaidByTheStreamHoweverItsUnitsAreDivided) {
  for (const char* name : {"a.mp4", "a.ts"}) {
    const std::vector<int> frames = of_key_frames({.name = name, .refreshes = true});
    ASSERT_GE(frames.size(), 4U) << name;
    EXPECT_EQ(frames.at(0), 0) << "an IDR picture";
    for (std::size_t i = 1; i < frames.size(); ++i) {
      EXPECT_GE(frames[i], 8) << name << i;
      EXPECT_LE(frames[i], 12) << name << i;
    }
  }
}

TEST(GradualRefresh, IsNotThereInOthers) {
  for (const int frames : of_key_frames({.name = "a.mp4", .b_frames = 2})) EXPECT_EQ(frames, 0);
}

TEST(GradualRefresh, OfWhatCannotBeReadIsBounded) {
  AVCodecParameters codec{};
  codec.codec_id = AV_CODEC_ID_H264;
  for (std::vector<std::uint8_t> bytes : std::vector<std::vector<std::uint8_t>>{{0, 0, 1, 6},
                                                                                {0, 0, 1, 6, 6},
                                                                                {0, 0, 1, 6, 6, 200, 1},
                                                                                {0, 0, 1, 6, 0xff, 0xff, 0xff},
                                                                                {0, 0, 1, 6, 6, 1, 0, 0}}) {
    AVPacket packet{};
    packet.data = bytes.data();
    packet.size = static_cast<int>(bytes.size());
    EXPECT_GE(frames_until_right(codec, packet), 0);
    EXPECT_LE(frames_until_right(codec, packet), 1024);
  }
}

AvPacket packet_at(std::int64_t pos, std::int64_t pts, bool key) {
  AvPacket packet = make_av_packet();
  packet->pos = pos;
  packet->pts = pts;
  packet->flags = key ? AV_PKT_FLAG_KEY : 0;
  return packet;
}

std::vector<std::int64_t> without_frame(Beginning& beginning, std::int64_t pos, std::int64_t pts) {
  std::vector<std::int64_t> packets;
  for (const Beginning::Packet& packet : beginning.frame(pos, pts)) packets.push_back(packet.pos);
  return packets;
}

TEST(Beginning, KnowsOfWhatNothingCame) {
  Beginning beginning;
  beginning.begin();
  beginning.give(*packet_at(7, 70, false));  // no decoder makes anything of it
  for (std::int64_t pos = 8; pos < 12; ++pos) beginning.give(*packet_at(pos, pos * 10, pos == 8));
  EXPECT_EQ(without_frame(beginning, 10, 100), (std::vector<std::int64_t>{8, 9}));
  EXPECT_TRUE(without_frame(beginning, 12, 120).empty()) << "once";
  beginning.begin();
  beginning.give(*packet_at(20, 230, true));  // two that are shown before it refer to what came before
  beginning.give(*packet_at(21, 210, false));
  beginning.give(*packet_at(22, 220, false));
  beginning.give(*packet_at(23, 260, false));
  EXPECT_EQ(without_frame(beginning, 20, 230), (std::vector<std::int64_t>{21, 22}));
  beginning.begin();
  for (std::int64_t pos = 30; pos < 33; ++pos) beginning.give(*packet_at(pos, AV_NOPTS_VALUE, pos == 30));
  EXPECT_TRUE(without_frame(beginning, 31, 310).empty()) << "it is not known when they are shown";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
