// What the simulated camera sends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/frame.h"
#include "core/packet.h"
#include "tests/sim/world.h"

namespace campipe::sim {

inline constexpr int width = 64;
inline constexpr int height = 36;
inline constexpr int frame_rate = 25;
inline constexpr nanoseconds frame_interval = milliseconds(1000 / frame_rate);
inline constexpr std::uint64_t group_of_pictures = 25;

inline FrameFormat frame_format() {
  FrameFormat format;
  format.width = width;
  format.height = height;
  return format;
}

// Codecs' headers, as encoders and cameras give them.
inline std::vector<std::uint8_t> headers() { return {0, 0, 0, 1, 103, 100, 0, 30}; }

// A packet of a frame's length, without reordering. `data` outlives it.
inline PacketView packet_at(std::int64_t at, std::int64_t arrival, bool key, std::span<const std::uint8_t> data) {
  PacketView packet;
  packet.data = data;
  packet.key = key;
  packet.dts = packet.times.pts = at;
  packet.times.duration = frame_interval.count();
  packet.times.arrival = arrival;
  return packet;
}

}  // namespace campipe::sim
