// What the simulated camera sends.
#pragma once

#include "core/frame.h"
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

}  // namespace campipe::sim
