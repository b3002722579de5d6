#include "core/printable.h"

#include <cstddef>

namespace campipe {

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool c1 = c == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F in UTF-8
    result += c < 0x20 || c == 0x7F || c1 ? '?' : text[i];
    if (c1) ++i;
  }
  return result;
}

}  // namespace campipe
