// What the simulated camera sends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/frame.h"
#include "core/packet.h"
#include "ipc/frame_ring.h"
#include "tests/sim/world.h"

namespace campipe::sim {

inline constexpr int width = 64;
inline constexpr int height = 36;
inline constexpr int frame_rate = 25;
inline constexpr nanoseconds frame_interval = milliseconds(1000 / frame_rate);
inline constexpr std::uint64_t group_of_pictures = 25;

// Of a camera that changes its frames' size, in turn.
enum class FrameSize : std::uint8_t { usual, small };

inline FrameSize other(FrameSize size) { return size == FrameSize::usual ? FrameSize::small : FrameSize::usual; }

inline FrameFormat frame_format(FrameSize size = FrameSize::usual) {
  FrameFormat format;
  format.width = size == FrameSize::usual ? width : width / 2;
  format.height = size == FrameSize::usual ? height : height / 2;
  return format;
}
inline FrameSize size_of(const FrameFormat& format) {
  return format == frame_format() ? FrameSize::usual : FrameSize::small;
}

// What a packet of the camera contains: its first byte is the size of the frame.
inline std::vector<std::uint8_t> packet_data(FrameSize size) {
  std::vector<std::uint8_t> data(160);
  data.front() = static_cast<std::uint8_t>(size);
  return data;
}
inline FrameSize size_in(std::span<const std::uint8_t> data) { return static_cast<FrameSize>(data.front()); }

// The record of a frame of that size in its ring's slot.
inline FrameRecord frame_record(FrameSize size) {
  FrameRecord record;
  record.format = frame_format(size);
  const auto columns = static_cast<std::uint32_t>(record.format.width);
  const std::uint32_t pixels = columns * static_cast<std::uint32_t>(record.format.height);
  record.stride = {record.format.width, record.format.width / 2, record.format.width / 2};
  record.offset = {0, pixels, pixels + pixels / 4};
  return record;
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
