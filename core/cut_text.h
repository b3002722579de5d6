// Where a text that is too long is cut.
#pragma once

#include <cstddef>
#include <string_view>

namespace campipe {

// Between characters of UTF-8, not within one: at most `size`.
inline std::size_t cut_at(std::string_view text, std::size_t size) {
  if (text.size() <= size) return text.size();
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80) --size;
  return size;
}

}  // namespace campipe
