#include "stages/compose/font.h"

#include <ft2build.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <mutex>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include FT_FREETYPE_H

namespace campipe {
namespace {

constexpr char32_t replacement = 0xFFFD;
constexpr char32_t ellipsis = 0x2026;
constexpr int fraction_bits = 6;          // of FreeType's lengths
constexpr std::size_t most_bytes = 1024;  // of a text: what is longer is no name or reason

int rounded_up(long length) { return static_cast<int>((length + (1 << fraction_bits) - 1) >> fraction_bits); }

struct CodePoint {
  char32_t value;
  std::size_t bytes;
};

// Of a text that is not empty.
CodePoint first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned lead = byte(0);
  if (lead < 0x20 || lead == 0x7F) return {U' ', 1};
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {replacement, 1};
  char32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {replacement, 1};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (value < least[bytes] || is_surrogate || value > 0x10FFFF) return {replacement, 1};
  return {value, bytes};
}

std::u32string code_points(std::string_view text) {
  std::u32string all;
  while (!text.empty()) {
    const auto [value, bytes] = first_of(text);
    all.push_back(value);
    text.remove_prefix(bytes);
  }
  return all;
}

std::string read_whole(const std::string& file) {
  errno = 0;
  const std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (!in || !bytes || bytes.view().empty()) throw system_error("cannot read the font " + file, errno);
  return bytes.str();
}

void copy_glyph(const FT_Bitmap& glyph, int left, int top, TextMask& mask) {
  for (int y = 0; y < static_cast<int>(glyph.rows); ++y) {
    const unsigned char* const row = glyph.buffer + std::ptrdiff_t{y} * glyph.pitch;
    if (top + y < 0 || top + y >= mask.height) continue;
    for (int x = 0; x < static_cast<int>(glyph.width); ++x) {
      if (left + x < 0 || left + x >= mask.width) continue;
      std::uint8_t& sample = mask.coverage[static_cast<std::size_t>((top + y) * mask.width + left + x)];
      sample = std::max(sample, row[x]);
    }
  }
}

}  // namespace

struct Font::State {
  explicit State(const std::string& file) : bytes(read_whole(file)) {
    if (FT_Init_FreeType(&library) != 0) throw Error("FreeType cannot be started");
    const auto* const data = reinterpret_cast<const FT_Byte*>(bytes.data());
    if (FT_New_Memory_Face(library, data, static_cast<FT_Long>(bytes.size()), 0, &face) != 0) {
      FT_Done_FreeType(library);
      throw Error(file + " is no font that FreeType reads");
    }
  }
  ~State() {
    FT_Done_Face(face);
    FT_Done_FreeType(library);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Of all that follow, until the next call.
  void set_size(int size) { FT_Set_Pixel_Sizes(face, 0, static_cast<FT_UInt>(size)); }
  [[nodiscard]] long ascender() const { return face->size->metrics.ascender; }
  [[nodiscard]] int line_height() const { return rounded_up(ascender() - face->size->metrics.descender); }

  // The glyph stays in face->glyph; nothing that is drawn where FreeType fails.
  [[nodiscard]] long load(char32_t code_point, FT_Int32 flags) {
    const bool loaded = FT_Load_Glyph(face, FT_Get_Char_Index(face, code_point), flags | FT_LOAD_TARGET_LIGHT) == 0;
    return loaded ? face->glyph->advance.x : 0;
  }
  [[nodiscard]] long width(std::u32string_view text) {
    long sum = 0;
    for (const char32_t code_point : text) sum += load(code_point, FT_LOAD_DEFAULT);
    return sum;
  }

  // The text, or as much of its beginning as fits with an ellipsis.
  [[nodiscard]] std::u32string cut(const std::u32string& text, int max_width) {
    const long most = static_cast<long>(max_width) << fraction_bits, of_ellipsis = load(ellipsis, FT_LOAD_DEFAULT);
    long sum = 0;
    std::size_t fits = 0;  // so many with an ellipsis
    for (std::size_t i = 0; i < text.size(); ++i) {
      sum += load(text[i], FT_LOAD_DEFAULT);
      if (sum + of_ellipsis <= most) fits = i + 1;
    }
    if (sum <= most) return text;
    while (fits > 0 && text[fits - 1] == U' ') --fits;
    return of_ellipsis <= most ? text.substr(0, fits) + ellipsis : std::u32string();
  }

  std::mutex mutex;  // faces are not for several threads at once
  std::string bytes;
  FT_Library library = nullptr;
  FT_Face face = nullptr;
};

Font::Font(const std::string& file) : state_(std::make_unique<State>(file)) {}
Font::~Font() = default;

int Font::line_height(int size) const {
  const std::scoped_lock lock(state_->mutex);
  state_->set_size(size);
  return state_->line_height();
}

TextMask Font::line(std::string_view text, int size, int max_width) const {
  const std::scoped_lock lock(state_->mutex);
  state_->set_size(size);
  const std::u32string shown = state_->cut(code_points(text.substr(0, most_bytes)), max_width);
  if (shown.empty()) return {};
  TextMask mask{rounded_up(state_->width(shown)), state_->line_height(), {}};
  mask.coverage.assign(static_cast<std::size_t>(mask.width * mask.height), 0);
  const int baseline = rounded_up(state_->ascender());
  long pen = 0;
  for (const char32_t code_point : shown) {
    const long advance = state_->load(code_point, FT_LOAD_RENDER);
    const FT_GlyphSlot glyph = state_->face->glyph;
    const int at = static_cast<int>((pen + 32) >> fraction_bits);
    if (advance > 0) copy_glyph(glyph->bitmap, at + glyph->bitmap_left, baseline - glyph->bitmap_top, mask);
    pen += advance;
  }
  return mask;
}

std::vector<std::string> Font::wrapped(std::string_view text, int size, int max_width, int max_lines) const {
  const std::scoped_lock lock(state_->mutex);
  state_->set_size(size);
  const long most = static_cast<long>(max_width) << fraction_bits;
  text = text.substr(0, most_bytes);
  std::vector<std::string> lines;
  std::size_t begin = 0, space = 0;  // of the line; its last space, if that is further
  long width = 0, behind_space = 0;  // of the line so far, and of what comes after the space
  const auto break_at = [&](std::size_t end) {
    lines.emplace_back(text.substr(begin, end - begin));
    begin = space = end + 1;
    width = std::exchange(behind_space, 0);
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto [value, bytes] = first_of(text.substr(at));
    const bool may_break = static_cast<int>(lines.size()) + 1 < max_lines;
    const long advance = state_->load(value, FT_LOAD_DEFAULT);
    if (value == U' ') {
      space = at;
      behind_space = 0;
      if (may_break && width > most)
        break_at(at);
      else
        width += advance;
    } else {
      width += advance;
      behind_space += advance;
      if (may_break && width > most && space > begin) break_at(space);
    }
    at += bytes;
  }
  if (begin < text.size() && max_lines > 0) lines.emplace_back(text.substr(begin));
  return lines;
}

std::unique_ptr<const Font> load_font_or_log(const std::string& file) try {
  return std::make_unique<const Font>(file);
} catch (const Error& error) {
  spdlog::warn("mosaics are drawn without text: {}; install fonts-dejavu-core, or build with -DCAMPIPE_FONT=FILE",
               error.what());
  return nullptr;
}

const Font* label_font() {
  static const std::unique_ptr<const Font> font = load_font_or_log(CAMPIPE_FONT);
  return font.get();
}

}  // namespace campipe
