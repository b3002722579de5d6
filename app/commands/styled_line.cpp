#include "app/commands/styled_line.h"

#include <cstdlib>

#include "core/text_columns.h"

namespace campipe {
namespace {

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

}  // namespace campipe
