// What a cell shows in place of frames.
#pragma once

#include <string_view>

#include "core/frame.h"
#include "stages/compose/font.h"

namespace campipe {

struct CardText {
  std::string_view name;
  std::string_view reason;  // why there are no frames; may be empty
  std::string_view since;   // since when, ready to be shown; may be empty
};

// Fills the cell: dark grey, a border, and as much of the text as fits, the name first. `font`: null: no text.
void draw_card(const MutableFrameView& cell, const Font* font, const CardText& text);

}  // namespace campipe
