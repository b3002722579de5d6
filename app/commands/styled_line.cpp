#include "app/commands/styled_line.h"

#include <algorithm>
#include <cstdlib>

namespace campipe {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

std::string cut(const std::string& text, std::size_t width) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && ++columns > width) return text.substr(0, i);
  }
  return text;
}

const char* sequence_of(Look look) {
  switch (look) {
    case Look::bold:
      return "\x1b[1m";
    case Look::dim:
      return "\x1b[2m";
    case Look::good:
      return "\x1b[32m";
    case Look::warning:
      return "\x1b[33m";
    case Look::bad:
      return "\x1b[1;31m";
    case Look::inverse:
      return "\x1b[7m";
    case Look::plain:
      break;
  }
  return "";
}

bool is_colour(Look look) { return look == Look::good || look == Look::warning || look == Look::bad; }

}  // namespace

StyledLine& StyledLine::add(const std::string& text, Look look) {
  pieces_.push_back({text, look});
  return *this;
}

void StyledLine::invert() { inverse_ = true; }

std::string StyledLine::render(std::size_t width, Form form) const {
  std::string line;
  std::size_t left = width;
  for (const Piece& piece : pieces_) {
    const std::string text = cut(piece.text, left);
    left -= columns_of(text);
    const bool shown =
        form != Form::plain && !inverse_ && !text.empty() && (form == Form::colours || !is_colour(piece.look));
    const std::string sequence = shown ? sequence_of(piece.look) : "";
    line += sequence + text + (sequence.empty() ? "" : "\x1b[0m");
  }
  if (!inverse_ || form == Form::plain) return line;
  return sequence_of(Look::inverse) + line + std::string(left, ' ') + "\x1b[0m";
}

StyledLine::Form form_for_terminals() {
  const char* no_colour = std::getenv("NO_COLOR");
  return no_colour != nullptr && *no_colour != '\0' ? StyledLine::Form::monochrome : StyledLine::Form::colours;
}

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string shorten(const std::string& text, std::size_t width, std::size_t tail) {
  const std::size_t columns = columns_of(text);
  if (columns <= width) return text;
  if (width == 0) return "";
  const std::size_t kept = std::min(tail, width - 1);
  const std::string before = cut(text, columns - kept);
  return cut(text, width - 1 - kept) + "…" + text.substr(before.size());
}

std::string fit(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string kept = cut(text, width);
  const std::string space(width - columns_of(kept), ' ');
  return to_the_right ? space + kept : kept + space;
}

}  // namespace campipe
