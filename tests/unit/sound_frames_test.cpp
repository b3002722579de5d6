// Frames of sound out of RTP packets that hold several, or parts of them.
#include "stages/sources/sound_frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/coded_units.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr int rate = 48'000;
constexpr int samples = 1536;

struct Sound {
  std::string data;
  std::int64_t pts;
  std::int64_t duration;
};

TEST(SoundFrames, AreWholeWhateverTheyCameIn) {
  const std::vector<std::string> sent = test::coded_sound("ac3", rate, 8).frames;
  const AvCodecParameters stream(avcodec_parameters_alloc());
  stream->codec_type = AVMEDIA_TYPE_AUDIO;
  stream->codec_id = AV_CODEC_ID_AC3;
  stream->sample_rate = rate;
  ASSERT_TRUE(needs_sound_frames(stream->codec_id));
  SoundFrames sound(*stream, {1, rate});
  std::vector<Sound> frames;
  const auto add = [&](const std::string& data, std::int64_t pts) {
    const AvPacket packet = make_av_packet();
    ASSERT_EQ(av_new_packet(packet.get(), static_cast<int>(data.size())), 0);
    std::memcpy(packet->data, data.data(), data.size());
    packet->pts = pts;
    packet->stream_index = 3;
    sound.add(*packet, [&](const AvPacket& frame) {
      EXPECT_EQ(frame->stream_index, 3);
      frames.push_back({std::string(frame->data, frame->data + frame->size), frame->pts, frame->duration});
    });
  };
  const std::int64_t start = 100'000;
  add(sent[0], start);
  add(sent[1] + sent[2], start + samples);
  const std::size_t half = sent[3].size() / 2;
  add(sent[3].substr(0, half), start + 3 * samples);
  add(sent[3].substr(half), start + 3 * samples);
  add(sent[4], start + 4 * samples);
  add(sent[5], AV_NOPTS_VALUE);
  add(sent[6], start + 7 * samples);  // after a loss
  add(sent[7], start + 8 * samples);
  ASSERT_GE(frames.size(), 7U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].data, sent[i]) << i;
    EXPECT_EQ(frames[i].pts, start + static_cast<std::int64_t>(i < 6 ? i : i + 1) * samples) << i;
    EXPECT_EQ(frames[i].duration, samples) << i;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
