// Upper and lower case of ASCII's letters, which names in protocols and URLs are made of. Other bytes stay as they are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace campipe {

inline char lower_case(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = lower_case(letter);
  return lower;
}

inline bool equal_without_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower_case(x) == lower_case(y); });
}

}  // namespace campipe
