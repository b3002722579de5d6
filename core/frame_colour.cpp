#include "core/frame_colour.h"

#include <algorithm>
#include <cmath>

namespace campipe {
namespace {

// As FFmpeg numbers them (AVColorSpace, AVColorRange).
constexpr std::uint8_t bt709 = 1;
constexpr std::uint8_t bt2020_ncl = 9;
constexpr std::uint8_t full_range = 2;

struct Matrix {
  double red;
  double blue;
};

Matrix matrix_of(const FrameFormat& format) {
  if (format.color_space == bt709) return {0.2126, 0.0722};
  if (format.color_space == bt2020_ncl) return {0.2627, 0.0593};
  return {0.299, 0.114};
}

std::uint8_t to_byte(double value) { return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

}  // namespace

YuvColour yuv_colour(const Rgb& colour, const FrameFormat& format) {
  const Matrix matrix = matrix_of(format);
  const double red = colour.red / 255.0, green = colour.green / 255.0, blue = colour.blue / 255.0;
  const double luma = matrix.red * red + (1 - matrix.red - matrix.blue) * green + matrix.blue * blue;
  const bool full = format.color_range == full_range;
  const double luma_steps = full ? 255 : 219, chroma_steps = full ? 255 : 224;
  return {to_byte((full ? 0 : 16) + luma_steps * luma),
          to_byte(128 + chroma_steps * (blue - luma) / (2 * (1 - matrix.blue))),
          to_byte(128 + chroma_steps * (red - luma) / (2 * (1 - matrix.red)))};
}

}  // namespace campipe
