#include "stages/compose/label.h"

#include <algorithm>
#include <cmath>

#include "core/frame_colour.h"
#include "kernels/overlay_rule.h"

namespace campipe {
namespace {

constexpr double box_opacity = 0.6;
constexpr int smallest_text = 9;  // below, letters run together
constexpr int largest_text = 40;

int round_to_even(int size) { return (size + 1) / 2 * 2; }

std::uint8_t to_byte(double value) { return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

// Lays the text into the middle of the box.
void fill_luma(const TextMask& text, const FrameFormat& format, Label& label) {
  const int black = yuv_colour({0, 0, 0}, format).y, white = yuv_colour({255, 255, 255}, format).y;
  const FrameRegion& box = label.region;
  const int left = (box.width - text.width) / 2, top = (box.height - text.height) / 2;
  for (int y = 0; y < box.height; ++y) {
    for (int x = 0; x < box.width; ++x) {
      const bool inside = x >= left && x < left + text.width && y >= top && y < top + text.height;
      const auto at = static_cast<std::size_t>((y - top) * text.width + x - left);
      const double covered = inside ? text.coverage[at] / 255.0 : 0;
      label.luma_keep.push_back(to_byte((1 - box_opacity) * (1 - covered) * 256));
      label.luma_add.push_back(to_byte(box_opacity * (1 - covered) * black + covered * white));
    }
  }
}

void fill_chroma(Label& label) {
  const int width = label.region.width;
  for (int y = 0; y < label.region.height; y += 2) {
    for (int x = 0; x < width; x += 2) {
      const std::uint8_t* const luma = &label.luma_keep[static_cast<std::size_t>(y * width + x)];
      label.chroma_keep.push_back(static_cast<std::uint8_t>((luma[0] + luma[1] + luma[width] + luma[width + 1]) / 4));
    }
  }
}

}  // namespace

Label make_label(const Font& font, std::string_view text, const FrameFormat& format) {
  const int size = std::clamp(std::min(format.height / 15, format.width / 24), smallest_text, largest_text);
  const int padding = std::max(2, size / 3), margin = round_to_even(size / 3);
  const TextMask mask = font.line(text, size, format.width - 2 * (padding + margin));
  Label label;
  const int width = round_to_even(mask.width + 2 * padding), height = round_to_even(mask.height + padding / 2);
  if (mask.coverage.empty() || 3 * (height + 2 * margin) > 2 * format.height) return label;
  label.region = {margin, (format.height - margin - height) / 2 * 2, width, height};
  fill_luma(mask, format, label);
  fill_chroma(label);
  return label;
}

void draw_label(const Label& label, const MutableFrameView& cell) {
  if (label.region.width == 0) return;
  const MutableFrameView out = region_of(cell, label.region);
  const bool nv12 = cell.format.pixels == PixelFormat::nv12;
  for (int plane = 0; plane < plane_count(out.format.pixels); ++plane) {
    const auto i = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(out.format, plane);
    const int step = plane == 1 && nv12 ? 2 : 1;  // samples that share a `keep`
    for (int y = 0; y < size.height; ++y) {
      std::uint8_t* const row = out.data[i] + std::ptrdiff_t{y} * out.stride[i];
      const auto first = static_cast<std::size_t>(y * size.width / step);
      for (int x = 0; x < size.width; ++x) {
        const std::size_t at = first + static_cast<std::size_t>(x / step);
        row[x] = plane == 0 ? overlaid_luma(row[x], label.luma_keep[at], label.luma_add[at])
                            : overlaid_chroma(row[x], label.chroma_keep[at]);
      }
    }
  }
}

}  // namespace campipe
