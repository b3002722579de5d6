// Colours as numbers of red, green and blue, and what they are in a frame.
#pragma once

#include <cstdint>

#include "core/frame.h"

namespace campipe {

// 0 to 255 each.
struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

struct YuvColour {
  std::uint8_t y = 16;
  std::uint8_t u = 128;
  std::uint8_t v = 128;
  friend bool operator==(const YuvColour&, const YuvColour&) = default;
};

// By the frame's range and matrix (ITU-R BT.601, BT.709 or BT.2020, non-constant luminance). Where the matrix is
// unspecified, BT.601; where the range is, limited: as FFmpeg does.
YuvColour yuv_colour(const Rgb& colour, const FrameFormat& format);

}  // namespace campipe
