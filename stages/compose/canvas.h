// What a mosaic's compositors share: what they are made for, and what their cells show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/frame.h"
#include "core/frame_colour.h"
#include "core/frame_region.h"
#include "kernels/level_rule.h"
#include "stages/compose/font.h"

namespace campipe {

struct CanvasCell {
  std::string name;
  FrameRegion region;
};

struct CanvasConfig {
  FrameFormat format;             // of the frames that come out; even sizes
  Rgb background;                 // where there is no cell
  std::vector<CanvasCell> cells;  // in this order: where they overlap, the later one is on top
  bool labels = true;             // names on the cells; a cell without frames shows its name in any case
  const Font* font = nullptr;     // outlives the compositor; null: no text
};

// What a cell is to show: a frame of the cell's size, or why there is none.
struct CellContent {
  const FrameView* frame = nullptr;  // null: there is none
  std::uint64_t number = 0;          // another frame of this cell has another one
  std::string_view reason = {};      // shown with `since` where there is no frame: see stages/compose/card.h
  std::string_view since = {};
};

// Throws Error where the frame has not the size of its cell.
void check_cell(const CanvasCell& cell, const FrameView& frame);
// Throws Error where the cell is not within the canvas: what is drawn there would be written beside it.
void require_inside(const CanvasCell& cell, const FrameFormat& canvas);

// Unspecified is limited, as for FFmpeg. The matrix of a cell's frames is not changed to the mosaic's: between BT.601
// and BT.709 colours differ a little.
bool has_full_range(const FrameFormat& format);
// What brings frames of the other range to that of `canvas`.
const LevelRules& levels_from_other_range(const FrameFormat& canvas);

// `canvas` with the size of `cell`.
FrameFormat cell_format(const FrameFormat& canvas, const CanvasCell& cell);

}  // namespace campipe
