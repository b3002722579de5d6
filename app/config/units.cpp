#include "app/config/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace campipe {
namespace {

// The number times its unit; nothing unless that is whole and fits. Doubles are exact far beyond what is allowed.
std::optional<std::int64_t> parse_with_unit(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const std::optional<double> number = parse_number(text.substr(0, text.size() - unit.name.size()));
    if (!number) return std::nullopt;
    const double product = *number * unit.factor;
    constexpr double largest = 9e18;
    if (!(std::abs(product) < largest)) return std::nullopt;
    const double whole = std::round(product);
    // 1.1 and 1e6 make 1100000.0000000001.
    if (std::abs(whole - product) > 1e-12 * std::max(1.0, std::abs(product))) return std::nullopt;
    return static_cast<std::int64_t>(whole);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  // from_chars, unlike strtod, knows no locale, no leading space and no hexadecimal; but it knows nan and inf.
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> parse_bitrate(std::string_view text) { return parse_with_unit(text, rate_units); }

std::optional<std::int64_t> parse_size(std::string_view text) { return parse_with_unit(text, size_units); }

std::optional<std::chrono::nanoseconds> parse_time(std::string_view text) {
  const std::optional<std::int64_t> count = parse_with_unit(text, time_units);
  if (!count) return std::nullopt;
  return std::chrono::nanoseconds(*count);
}

std::string time_text(std::chrono::nanoseconds time) {
  if (time.count() == 0) return "0s";
  const Unit* best = &time_units.front();
  for (const Unit& unit : time_units) {
    const auto length = static_cast<std::int64_t>(unit.factor);
    if (time.count() % length == 0) best = &unit;
  }
  return number_text(static_cast<double>(time.count()) / best->factor) + std::string(best->name);
}

std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), result.ptr};
}

}  // namespace campipe
