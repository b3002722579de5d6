// Keys of links between nodes (app/link), as messages have them: 64 hexadecimal digits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace campipe {

using LinkKey = std::array<std::uint8_t, 32>;  // of Curve25519

inline std::string text_of(const LinkKey& key) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : key) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

// Nothing: it is none.
inline std::optional<LinkKey> link_key_from(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  LinkKey key{};
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto value = digits.find(text[i]);
    if (value == std::string_view::npos) return std::nullopt;
    key.at(i / 2) = static_cast<std::uint8_t>(key.at(i / 2) << 4U | value);
  }
  return key;
}

}  // namespace campipe
