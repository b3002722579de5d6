// Streams for tests of recordings: moving_picture() 0, 1, 2, … encoded, and what cameras send besides.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ffmpeg.h"
#include "core/metadata_types.h"
#include "core/packet.h"
#include "stages/encoders/encoder.h"
#include "tests/unit/moving_picture.h"

namespace campipe::test {

inline constexpr std::int64_t ms = 1'000'000;
inline constexpr std::int64_t second = 1'000'000'000;

struct Packet {
  std::vector<std::uint8_t> data;
  std::int64_t dts;
  bool key;
  FrameTimes times;
  FrameMetadata metadata = {};

  [[nodiscard]] PacketView view() const { return {data, dts, key, times, metadata}; }
  void set_motion(float moving) { metadata.set(MotionScore{.moving = moving}); }
};

struct Clip {
  StreamParameters parameters;
  std::vector<Packet> packets;
};

inline FrameFormat clip_format() {
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

// A key frame every 0.4 s.
inline EncoderConfig clip_config(Latency latency) {
  EncoderConfig config;
  config.preset = latency == Latency::low ? "superfast" : "medium";
  config.gop = 10;
  config.latency = latency;
  return config;
}

// Frame number i at times[i]; numbers start at `first`.
inline Clip encode(const EncoderConfig& config, const std::vector<std::int64_t>& times, int first = 0,
                   const FrameFormat& format = clip_format()) {
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

inline Clip encode(Latency latency, const std::vector<std::int64_t>& times, int first = 0) {
  return encode(clip_config(latency), times, first);
}

inline std::vector<std::int64_t> steady(int count, std::int64_t start = 0) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < count; ++i) times.push_back(start + i * 40 * ms);
  return times;
}

}  // namespace campipe::test
