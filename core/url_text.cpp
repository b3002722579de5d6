#include "core/url_text.h"

#include <algorithm>
#include <cctype>

namespace campipe {

std::string percent_decoded(std::string_view text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool escape = text[at] == '%' && is_digit(at + 1) && is_digit(at + 2);
    result += escape ? static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), nullptr, 16)) : text[at];
    if (escape) at += 2;
  }
  return result;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view plain = ".-_~";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || plain.find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += '%';
      result += digits[byte >> 4U];
      result += digits[byte & 15U];
    }
  }
  return result;
}

bool is_host_in_numbers(std::string_view host) {
  return host.find_first_not_of("0123456789.") == std::string_view::npos && std::ranges::count(host, '.') == 3;
}

}  // namespace campipe
