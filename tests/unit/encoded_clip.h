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
#include "stages/encoders/encoder_config.h"

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

FrameFormat clip_format();

// A key frame every 0.4 s.
EncoderConfig clip_config(Latency latency);

// Frame number i at times[i]; numbers start at `first`.
Clip encode(const EncoderConfig& config, const std::vector<std::int64_t>& times, int first = 0,
            const FrameFormat& format = clip_format());

Clip encode(Latency latency, const std::vector<std::int64_t>& times, int first = 0);

std::vector<std::int64_t> steady(int count, std::int64_t start = 0);

}  // namespace campipe::test
