#include "app/config/schema_ranges.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace campipe {
namespace {

constexpr std::string_view any_fraction = "(\\.[0-9]*)?";

// A number's digits before and behind its point, without zeros at the ends.
struct Digits {
  std::string whole;
  std::string fraction;
};

Digits digits_of(double number) {
  const std::string text = fmt::format("{:.9f}", number);
  Digits digits{text.substr(0, text.find('.')), text.substr(text.find('.') + 1)};
  digits.whole.erase(0, std::min(digits.whole.find_first_not_of('0'), digits.whole.size()));
  digits.fraction.erase(digits.fraction.find_last_not_of('0') + 1);
  return digits;
}

// Texts that begin like `digits` and then have a greater digit (`above`) or a lesser one; `rest` follows it.
template <typename Rest>
void add_others(std::string& pattern, const std::string& digits, bool above, const Rest& rest) {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] == (above ? '9' : '0')) continue;
    const char low = above ? static_cast<char>(digits[i] + 1) : '0';
    const char high = above ? '9' : static_cast<char>(digits[i] - 1);
    pattern += fmt::format("|{}[{}-{}]{}", digits.substr(0, i), low, high, rest(digits.size() - 1 - i));
  }
}

std::string more_digits(std::size_t count) { return fmt::format("[0-9]{{{}}}{}", count, any_fraction); }
std::string any_digits(std::size_t /*count*/) { return "[0-9]*"; }

// Both go on behind any zeros.
std::string at_most(double number) {
  const auto [whole, fraction] = digits_of(number);
  std::string below;
  add_others(below, fraction, false, any_digits);
  for (std::size_t i = 0; i < fraction.size(); ++i) below += "|" + fraction.substr(0, i);
  std::string pattern = fmt::format("{}(\\.({}0*{}))?", whole, fraction, below);
  add_others(pattern, whole, false, more_digits);
  if (!whole.empty()) pattern += fmt::format("|[0-9]{{0,{}}}{}", whole.size() - 1, any_fraction);
  return pattern;
}

std::string at_least(double number) {
  const auto [whole, fraction] = digits_of(number);
  std::string above = fraction + "[0-9]*";
  add_others(above, fraction, true, any_digits);
  std::string pattern = fmt::format("{}(\\.({})){}", whole, above, fraction.empty() ? "?" : "");
  add_others(pattern, whole, true, more_digits);
  return pattern + fmt::format("|[1-9][0-9]{{{},}}{}", whole.size(), any_fraction);
}

}  // namespace

nlohmann::json range_schema(std::span<const Unit> units, double min, double max, const std::string& expected) {
  std::string pattern;
  bool has_plain = false;
  for (const Unit& unit : units) {
    pattern += fmt::format("{}(?=0*({}){}$)0*({}){}", pattern.empty() ? "" : "|", at_least(min / unit.factor),
                           unit.name, at_most(max / unit.factor), unit.name);
    has_plain = has_plain || unit.name.empty();
  }
  nlohmann::json schema{{"type", "string"},
                        {"pattern", "^(?=\\.?[0-9])(" + pattern + ")$"},
                        {"patternErrorMessage", "Expected " + expected + "."}};
  if (has_plain) schema = {{"anyOf", {schema, {{"type", "integer"}, {"minimum", min}, {"maximum", max}}}}};
  return schema;
}

nlohmann::json duration_schema(std::chrono::nanoseconds min, std::chrono::nanoseconds max) {
  return range_schema(time_units, static_cast<double>(min.count()), static_cast<double>(max.count()),
                      "a time from " + time_text(min) + " to " + time_text(max) + " (units ms, s, m, h, d)");
}

}  // namespace campipe
