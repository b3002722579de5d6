// A line for a terminal: pieces of text with their looks, cut to the width of the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace campipe {

enum class Look : std::uint8_t { plain, bold, dim, good, warning, bad, inverse };

class StyledLine {
 public:
  StyledLine& add(const std::string& text, Look look = Look::plain);
  // At most `width` columns of UTF-8; with colours as escape sequences (ECMA-48), or only what needs none (bold, dim,
  // inverse), or as plain text. An inverse line fills its width.
  enum class Form : std::uint8_t { plain, monochrome, colours };
  [[nodiscard]] std::string render(std::size_t width, Form form) const;
  // All of it, inverse.
  void invert();

 private:
  struct Piece {
    std::string text;
    Look look;
  };
  std::vector<Piece> pieces_;
  bool inverse_ = false;
};

// With colours, unless NO_COLOR asks for none.
StyledLine::Form form_for_terminals();

}  // namespace campipe
