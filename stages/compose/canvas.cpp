#include "stages/compose/canvas.h"

#include "core/error.h"

namespace campipe {

void check_cell(const CanvasCell& cell, const FrameView& frame) {
  if (frame.format.width == cell.region.width && frame.format.height == cell.region.height) return;
  const auto text = [](int width, int height) { return std::to_string(width) + "x" + std::to_string(height); };
  throw Error("a frame of " + text(frame.format.width, frame.format.height) + " for the cell '" + cell.name +
              "', which is " + text(cell.region.width, cell.region.height));
}

bool has_full_range(const FrameFormat& format) {
  constexpr std::uint8_t full = 2;  // AVCOL_RANGE_JPEG
  return format.color_range == full;
}

const LevelRules& levels_from_other_range(const FrameFormat& canvas) {
  return has_full_range(canvas) ? limited_to_full : full_to_limited;
}

FrameFormat cell_format(const FrameFormat& canvas, const CanvasCell& cell) {
  FrameFormat format = canvas;
  format.width = cell.region.width;
  format.height = cell.region.height;
  return format;
}

}  // namespace campipe
