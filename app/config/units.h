// Numbers as people write them in a configuration. Each function takes the whole text or nothing: no trailing
// junk, no nan or infinity, no value that does not fit.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace campipe {

struct Unit {
  std::string_view name;
  double factor;
};
// Longer names first: `ms` ends with an `s`.
inline constexpr std::array time_units{Unit{"ms", 1e6}, Unit{"s", 1e9}, Unit{"m", 60e9}, Unit{"h", 3600e9},
                                       Unit{"d", 86400e9}};
inline constexpr std::array rate_units{Unit{"k", 1e3}, Unit{"M", 1e6}, Unit{"G", 1e9}, Unit{"", 1}};
inline constexpr std::array size_units{Unit{"k", 1e3}, Unit{"M", 1e6}, Unit{"G", 1e9}, Unit{"T", 1e12}, Unit{"", 1}};

std::optional<double> parse_number(std::string_view text);

// Bits a second: `800k`, `4M`, `1.5M`, `1G`, or a plain integer. Decimal: k is 1000.
std::optional<std::int64_t> parse_bitrate(std::string_view text);

// Bytes: `500M`, `20G`, `1.5T`, or a plain integer. Decimal as bit rates are, and as disks are sold: k is 1000.
std::optional<std::int64_t> parse_size(std::string_view text);

// A time: a number and ms, s, m, h or d.
std::optional<std::chrono::nanoseconds> parse_time(std::string_view text);

// A time as the errors write it, in the largest unit that gives an integer: 100ms, 10m.
std::string time_text(std::chrono::nanoseconds time);

// A number as the documentation and the errors write it: 16, 0.1.
std::string number_text(double number);

}  // namespace campipe
