#include "core/passwords.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace campipe {
namespace {

constexpr std::string_view ends_of_url = " \t\r\n'\"<>";
// As their names end: "api_key" is one, too.
constexpr std::array<std::string_view, 8> secret_fields{"password", "passwd", "passphrase", "pass",
                                                        "pwd",      "token",  "secret",     "key"};

void hide_users(std::string& text) {
  constexpr std::string_view mark = "://";
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    at += mark.size();
    const auto end = std::min(text.find_first_of(ends_of_url, at), text.size());
    const std::string_view rest = std::string_view(text).substr(at, end - at);
    const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
    auto last = host.rfind('@');
    // Somebody may have forgotten to write the '/' of a password as %2F.
    if (last == std::string_view::npos && host.find(':') != std::string_view::npos) last = rest.rfind('@');
    if (last != std::string_view::npos) text.erase(at, last + 1);
  }
}

bool same_letters(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return static_cast<char>(std::tolower(static_cast<unsigned char>(a))) == b; });
}

bool is_secret_field(std::string_view text, std::size_t equals) {
  return std::any_of(secret_fields.begin(), secret_fields.end(), [&](std::string_view field) {
    return equals >= field.size() && same_letters(text.substr(equals - field.size(), field.size()), field);
  });
}

void hide_fields(std::string& text) {
  for (auto equals = text.find('='); equals != std::string::npos; equals = text.find('=', equals + 1)) {
    if (!is_secret_field(text, equals)) continue;
    const auto end = std::min(text.find_first_of(std::string(ends_of_url) + "&/", equals), text.size());
    text.replace(equals + 1, end - equals - 1, "***");
  }
}

bool has_user_with_password(std::string_view text) {
  constexpr std::string_view mark = "://";
  for (auto at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at)) {
    at += mark.size();
    const std::string_view rest = text.substr(at);
    const std::string_view host = rest.substr(0, rest.find_first_of(std::string(ends_of_url) + "/?#"));
    const auto last = host.rfind('@');
    const auto colon = host.find(':');
    if (last != std::string_view::npos && colon != std::string_view::npos && colon + 1 < last) return true;
  }
  return false;
}

bool has_secret_field(std::string_view text) {
  const auto url = std::min(text.find("://"), text.size());
  for (auto equals = text.find('=', url); equals != std::string_view::npos; equals = text.find('=', equals + 1)) {
    const bool has_value =
        equals + 1 < text.size() && (std::string(ends_of_url) + "&/").find(text[equals + 1]) == std::string::npos;
    if (has_value && is_secret_field(text, equals)) return true;
  }
  return false;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

void cut_paths(std::string& text) {
  constexpr std::string_view mark = "://";
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    const bool pattern = std::string_view(text).substr(0, at).ends_with("test");
    at += mark.size();
    const auto end = std::min(text.find_first_of(ends_of_url, at), text.size());
    const auto path = std::min(text.find_first_of("/?#", at), end);
    if (!pattern) text.erase(path, end - path);
  }
}

}  // namespace

void hide_text(std::string& text, std::string_view what, std::string_view by) {
  constexpr std::size_t short_text = 4;
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    const std::size_t end = at + what.size();
    const bool inside_a_word = (at > 0 && is_word(text[at - 1]) && is_word(what.front())) ||
                               (end < text.size() && is_word(text[end]) && is_word(what.back()));
    if (what.size() < short_text && inside_a_word) {
      at = end;
      continue;
    }
    text.replace(at, what.size(), by);
    at += by.size();
  }
}

std::string redact_urls(const std::string& text) {
  std::string shown = without_passwords(text);
  cut_paths(shown);
  return shown;
}

bool holds_password(const std::string& text) { return has_user_with_password(text) || has_secret_field(text); }

std::string without_passwords(const std::string& text) {
  std::string shown = text;
  hide_users(shown);
  hide_fields(shown);
  return shown;
}

}  // namespace campipe
