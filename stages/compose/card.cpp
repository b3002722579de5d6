#include "stages/compose/card.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/frame_colour.h"
#include "core/frame_region.h"

namespace campipe {
namespace {

constexpr Rgb border_colour{8, 8, 8};
constexpr Rgb card_colour{38, 38, 38};
constexpr Rgb name_colour{245, 245, 245};
constexpr Rgb reason_colour{210, 210, 210};
constexpr Rgb since_colour{150, 150, 150};
constexpr int border = 2;
constexpr int most_reason_lines = 3;

// All of these colours are grey.
void fill_grey(const MutableFrameView& view, const Rgb& grey) {
  const YuvColour colour = yuv_colour(grey, view.format);
  for (int plane = 0; plane < plane_count(view.format.pixels); ++plane) {
    const auto i = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(view.format, plane);
    for (int y = 0; y < size.height; ++y) {
      std::memset(view.data[i] + std::ptrdiff_t{y} * view.stride[i], plane == 0 ? colour.y : colour.u,
                  static_cast<std::size_t>(size.width));
    }
  }
}

struct Line {
  std::string text;
  int size;
  Rgb colour;
};

void draw_line(const MutableFrameView& cell, const TextMask& mask, int top, const Rgb& grey) {
  const int level = yuv_colour(grey, cell.format).y;
  const int left = (cell.format.width - mask.width) / 2;
  for (int y = 0; y < mask.height; ++y) {
    std::uint8_t* const row = cell.data[0] + std::ptrdiff_t{top + y} * cell.stride[0] + left;
    for (int x = 0; x < mask.width; ++x) {
      const int covered = mask.coverage[static_cast<std::size_t>(y * mask.width + x)];
      row[x] = static_cast<std::uint8_t>(row[x] + (level - row[x]) * covered / 255);
    }
  }
}

int height_of(const Font& font, const std::vector<Line>& lines) {
  int sum = 0;
  for (const Line& line : lines) sum += font.line_height(line.size);
  return sum;
}

// With as many lines for the reason as there is room for; then without `since`, without the reason, without a name.
std::vector<Line> lines_that_fit(const Font& font, const CardText& text, int width, int height) {
  const int scale = std::min(height, width * 9 / 14);
  const int size = std::clamp(scale / 10, 10, 48), small = std::clamp(scale / 14, 9, 34);
  for (int reason_lines = most_reason_lines; reason_lines >= 0; --reason_lines) {
    for (const bool with_since : {true, false}) {
      std::vector<Line> lines{{std::string(text.name), size, name_colour}};
      for (std::string& line : font.wrapped(text.reason, small, width, reason_lines))
        lines.push_back({std::move(line), small, reason_colour});
      if (with_since && !text.since.empty()) lines.push_back({std::string(text.since), small, since_colour});
      const bool one_is_left_out = !with_since && reason_lines > 1;  // a shorter reason is better
      if (!one_is_left_out && height_of(font, lines) <= height) return lines;
    }
  }
  return {};
}

}  // namespace

void draw_card(const MutableFrameView& cell, const Font* font, const CardText& text) {
  fill_grey(cell, border_colour);
  const FrameRegion inner{border, border, cell.format.width - 2 * border, cell.format.height - 2 * border};
  fill_grey(region_of(cell, inner), card_colour);
  if (font == nullptr) return;
  const int margin = cell.format.width / 16;
  const std::vector<Line> lines = lines_that_fit(*font, text, inner.width - 2 * margin, inner.height);
  int top = (cell.format.height - height_of(*font, lines)) / 2;
  for (const Line& line : lines) {
    draw_line(cell, font->line(line.text, line.size, inner.width - 2 * margin), top, line.colour);
    top += font->line_height(line.size);
  }
}

}  // namespace campipe
