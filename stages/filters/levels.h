// What black is in a frame.
#pragma once

#include "core/frame.h"

namespace campipe {

// Unspecified is limited, as for FFmpeg.
inline bool is_full_range(const FrameFormat& format) {
  constexpr std::uint8_t full = 2;  // AVCOL_RANGE_JPEG
  return format.color_range == full;
}

inline std::uint8_t luma_black(const FrameFormat& format) { return is_full_range(format) ? 0 : 16; }
inline constexpr std::uint8_t chroma_black = 128;

}  // namespace campipe
