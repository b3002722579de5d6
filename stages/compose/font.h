// Text as coverage: how much of each sample a glyph covers. FreeType draws it, with hinting that leaves widths alone;
// there is no shaping, so scripts that join or reorder their letters look wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace campipe {

// Rows of `width` samples, 0 (not covered) to 255.
struct TextMask {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> coverage;
};

// A font file, read as a whole: later nothing is opened. Any thread. Text is UTF-8; what is none, and control
// characters, are drawn as U+FFFD and spaces, and what the font lacks as its box for that. Sizes are in samples per em.
class Font {
 public:
  // Throws Error.
  explicit Font(const std::string& file);
  ~Font();
  Font(const Font&) = delete;
  Font& operator=(const Font&) = delete;

  [[nodiscard]] int line_height(int size) const;
  // At most `max_width` wide: what is longer is cut, and ends in an ellipsis; empty where not even that fits.
  [[nodiscard]] TextMask line(std::string_view text, int size, int max_width) const;
  // Cut into lines at spaces; the last of at most `max_lines` has all that is left.
  [[nodiscard]] std::vector<std::string> wrapped(std::string_view text, int size, int max_width, int max_lines) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Null where the font cannot be read; a line of the log says what to install.
std::unique_ptr<const Font> load_font_or_log(const std::string& file);

// The font of labels, which the build names (CAMPIPE_FONT; Debian's fonts-dejavu-core). Loaded once a process, by the
// first call; null where it is missing.
const Font* label_font();

}  // namespace campipe
