#include "core/passwords.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "core/cut_text.h"

namespace campipe {
namespace {

constexpr std::string_view mark_of_url = "://";
constexpr std::string_view ends_of_url = " \t\r\n'\"<>";
constexpr std::string_view ends_of_host = " \t\r\n'\"<>/?#";
constexpr std::string_view ends_of_field = " \t\r\n'\"<>&/";
// As their names end: "api_key" is one, too.
constexpr std::array<std::string_view, 8> secret_fields{"password", "passwd", "passphrase", "pass",
                                                        "pwd",      "token",  "secret",     "key"};

// What follows a "://" up to the end of the URL. All these functions go through a text once: strangers write some.
std::string_view behind_mark(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  return rest.substr(0, rest.find_first_of(ends_of_url));
}

void hide_users(std::string& text) {
  const std::string_view given = text;
  std::string shown;
  std::size_t copied = 0;
  std::size_t url_end = 0;
  std::size_t last_at = std::string_view::npos;  // the last '@' of the URL
  for (auto mark = given.find(mark_of_url); mark != std::string_view::npos; mark = given.find(mark_of_url, mark)) {
    mark += mark_of_url.size();
    if (mark > url_end) {
      const std::string_view url = behind_mark(given, mark);
      url_end = mark + url.size();
      last_at = url.rfind('@');
      if (last_at != std::string_view::npos) last_at += mark;
    }
    const std::string_view rest = given.substr(mark, url_end - mark);
    const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
    auto end = host.rfind('@');
    if (end != std::string_view::npos) end += mark;
    // Somebody may have forgotten to write the '/' of a password as %2F.
    const bool may_go_on = end == std::string_view::npos && host.find(':') != std::string_view::npos;
    if (may_go_on && last_at != std::string_view::npos && last_at >= mark) end = last_at;
    if (end == std::string_view::npos) continue;
    shown += given.substr(copied, mark - copied);
    mark = copied = end + 1;
  }
  shown += given.substr(copied);
  text = std::move(shown);
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
  const std::string_view given = text;
  std::string shown;
  std::size_t copied = 0;
  for (auto equals = given.find('='); equals != std::string_view::npos; equals = given.find('=', equals + 1)) {
    if (!is_secret_field(given, equals)) continue;
    const auto end = std::min(given.find_first_of(ends_of_field, equals), given.size());
    shown += given.substr(copied, equals + 1 - copied);
    shown += "***";
    copied = end;
    equals = end - 1;
  }
  shown += given.substr(copied);
  text = std::move(shown);
}

bool has_user_with_password(std::string_view text) {
  for (auto at = text.find(mark_of_url); at != std::string_view::npos; at = text.find(mark_of_url, at)) {
    at += mark_of_url.size();
    const std::string_view rest = text.substr(at);
    const std::string_view host = rest.substr(0, rest.find_first_of(ends_of_host));
    const auto last = host.rfind('@');
    const auto colon = host.find(':');
    if (last != std::string_view::npos && colon != std::string_view::npos && colon + 1 < last) return true;
  }
  return false;
}

bool has_secret_field(std::string_view text) {
  const auto url = std::min(text.find("://"), text.size());
  for (auto equals = text.find('=', url); equals != std::string_view::npos; equals = text.find('=', equals + 1)) {
    const bool has_value = equals + 1 < text.size() && ends_of_field.find(text[equals + 1]) == std::string_view::npos;
    if (has_value && is_secret_field(text, equals)) return true;
  }
  return false;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

void cut_paths(std::string& text) {
  const std::string_view given = text;
  std::string shown;
  std::size_t copied = 0;
  for (auto at = given.find(mark_of_url); at != std::string_view::npos; at = given.find(mark_of_url, at)) {
    const bool pattern = given.substr(0, at).ends_with("test");
    at += mark_of_url.size();
    if (pattern) continue;
    const auto path = std::min(given.find_first_of(ends_of_host, at), given.size());
    shown += given.substr(copied, path - copied);
    at = copied = path + behind_mark(given, path).size();
  }
  shown += given.substr(copied);
  text = std::move(shown);
}

}  // namespace

void hide_text(std::string& text, std::string_view what, std::string_view by) {
  constexpr std::size_t short_text = 4;
  if (what.empty()) return;
  const std::string_view given = text;
  std::string shown;
  std::size_t copied = 0;
  for (std::size_t at = given.find(what); at != std::string_view::npos;) {
    const std::size_t end = at + what.size();
    const std::string_view before = at > copied ? given.substr(copied, at - copied) : std::string_view(shown);
    const bool inside_a_word = (!before.empty() && is_word(before.back()) && is_word(what.front())) ||
                               (end < given.size() && is_word(given[end]) && is_word(what.back()));
    if (what.size() >= short_text || !inside_a_word) {
      shown += given.substr(copied, at - copied);
      shown += by;
      copied = end;
    }
    at = given.find(what, end);
  }
  shown += given.substr(copied);
  text = std::move(shown);
}

std::string redact_urls(const std::string& text) {
  std::string shown = without_passwords(text);
  cut_paths(shown);
  return shown;
}

bool holds_password(const std::string& text) { return has_user_with_password(text) || has_secret_field(text); }

std::string shown_name(std::string_view name) {
  constexpr std::size_t longest = 200;
  if (name.size() <= longest) return without_passwords(std::string(name));
  // The '@' that ends a user and a password may be in the part that was cut off.
  std::string shown = without_passwords(std::string(name.substr(0, cut_at(name, longest))) + '@');
  if (shown.ends_with('@')) shown.pop_back();
  return shown + "…";
}

std::string without_passwords(const std::string& text) {
  std::string shown = text;
  hide_users(shown);
  hide_fields(shown);
  return shown;
}

}  // namespace campipe
