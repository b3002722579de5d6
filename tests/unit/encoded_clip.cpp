#include "tests/unit/encoded_clip.h"

#include "tests/unit/moving_picture.h"

namespace campipe::test {

FrameFormat clip_format() {
  FrameFormat format;
  format.width = 160;
  format.height = 128;
  format.color_range = AVCOL_RANGE_MPEG;
  format.color_space = AVCOL_SPC_BT709;
  format.color_primaries = AVCOL_PRI_BT709;
  format.color_transfer = AVCOL_TRC_BT709;
  format.sample_aspect_num = 4;
  format.sample_aspect_den = 3;
  return format;
}

EncoderConfig clip_config(Latency latency) {
  EncoderConfig config;
  config.preset = latency == Latency::low ? "superfast" : "medium";
  config.gop = 10;
  config.latency = latency;
  return config;
}

Clip encode(const EncoderConfig& config, const std::vector<std::int64_t>& times, int first, const FrameFormat& format) {
  const auto encoder = open_encoder(config, format, 25);
  Clip clip{encoder->parameters(), {}};
  const auto take = [&](const PacketView& p) {
    clip.packets.push_back({{p.data.begin(), p.data.end()}, p.dts, p.key, p.times});
  };
  for (std::size_t i = 0; i < times.size(); ++i) {
    FrameTimes at;
    at.pts = times[i];
    at.duration = i + 1 < times.size() ? times[i + 1] - times[i] : 40 * ms;
    encoder->encode(moving_picture(format, first + static_cast<int>(i)), at, take);
  }
  encoder->flush(take);
  return clip;
}

Clip encode(Latency latency, const std::vector<std::int64_t>& times, int first) {
  return encode(clip_config(latency), times, first);
}

std::vector<std::int64_t> steady(int count, std::int64_t start) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < count; ++i) times.push_back(start + i * 40 * ms);
  return times;
}

}  // namespace campipe::test
