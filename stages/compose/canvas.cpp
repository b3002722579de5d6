#include "stages/compose/canvas.h"

#include "core/error.h"

namespace campipe {

void check_cell(const CanvasCell& cell, const FrameView& frame) {
  if (frame.format.width == cell.region.width && frame.format.height == cell.region.height) return;
  const auto text = [](int width, int height) { return std::to_string(width) + "x" + std::to_string(height); };
  throw Error("a frame of " + text(frame.format.width, frame.format.height) + " for the cell '" + cell.name +
              "', which is " + text(cell.region.width, cell.region.height));
}

void require_inside(const CanvasCell& cell, const FrameFormat& canvas) {
  const FrameRegion& at = cell.region;
  const auto fits = [](int begin, int length, int all) {
    return begin >= 0 && length > 0 && length <= all && begin <= all - length;
  };
  if (fits(at.x, at.width, canvas.width) && fits(at.y, at.height, canvas.height)) return;
  throw Error("the cell '" + cell.name + "' does not lie within the picture");
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
