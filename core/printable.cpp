#include "core/printable.h"

#include <cstddef>

namespace campipe {
namespace {

// Of what a terminal would obey at the beginning of the text, in UTF-8; 0: it begins with nothing like that.
std::size_t length_of_control(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const auto is_third = [&](unsigned first, unsigned last) { return byte(2) >= first && byte(2) <= last; };
  if (byte(0) < 0x20 || byte(0) == 0x7F) return 1;
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return 2;  // U+0080 to U+009F
  if (byte(0) == 0xE2 && byte(1) == 0x80 && (is_third(0x8E, 0x8F) || is_third(0xA8, 0xAE))) return 3;  // U+200E, 2028 …
  if (byte(0) == 0xE2 && byte(1) == 0x81 && is_third(0xA6, 0xA9)) return 3;  // U+2066 to U+2069
  return 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t control = length_of_control(text);
    result += control == 0 ? text.front() : '?';
    text.remove_prefix(control == 0 ? 1 : control);
  }
  return result;
}

}  // namespace campipe
