// The name of a camera on its cell: light text on a dark box that lets the frame shine through.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/frame.h"
#include "core/frame_region.h"
#include "stages/compose/font.h"

namespace campipe {

// Made once, as kernels/overlay_rule.h has it; rows are those of `region`.
struct Label {
  FrameRegion region;  // in the cell; no width: there is no label
  std::vector<std::uint8_t> luma_keep;
  std::vector<std::uint8_t> luma_add;
  std::vector<std::uint8_t> chroma_keep;
};

// At the bottom left; its size follows the cell's. None where the cell is too small for one that can be read, or
// the text is empty. `format`: of the frames that it is laid over, with the cell's size.
Label make_label(const Font& font, std::string_view text, const FrameFormat& format);

// `cell` has the format that the label was made for. Does not allocate.
void draw_label(const Label& label, const MutableFrameView& cell);

}  // namespace campipe
