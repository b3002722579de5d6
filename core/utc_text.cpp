#include "core/utc_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "core/nanoseconds.h"

namespace campipe {
namespace {

// Nothing: there is no such day or second, such as 30 February, which timegm() would take for 2 March.
std::optional<std::time_t> seconds_of(const std::tm& time) {
  std::tm counted = time;
  const std::time_t seconds = ::timegm(&counted);  // writes the day that it has counted
  const bool same = counted.tm_year == time.tm_year && counted.tm_mon == time.tm_mon &&
                    counted.tm_mday == time.tm_mday && counted.tm_hour == time.tm_hour &&
                    counted.tm_min == time.tm_min && counted.tm_sec == time.tm_sec;
  return same ? std::optional(seconds) : std::nullopt;
}

// Digits and marks as in "2026-11-21T10:15:30"; strptime() would also take one digit for two, signs and spaces.
bool begins_with_time(std::string_view text) {
  constexpr std::string_view pattern = "0000-00-00T00:00:00";
  if (text.size() < pattern.size()) return false;
  return std::equal(pattern.begin(), pattern.end(), text.begin(),
                    [](char form, char c) { return form == '0' ? c >= '0' && c <= '9' : c == form; });
}

}  // namespace

std::string utc_text(std::int64_t utc_ns) {
  const std::int64_t part = (utc_ns % ns_per_s + ns_per_s) % ns_per_s;  // also before 1970
  const std::time_t seconds = (utc_ns - part) / ns_per_s;
  std::tm time{};
  ::gmtime_r(&seconds, &time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday,
                     time.tm_hour, time.tm_min, time.tm_sec, part / 1'000'000);
}

std::optional<std::int64_t> utc_from_text(const std::string& text) {
  if (!begins_with_time(text)) return std::nullopt;
  std::tm time{};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) return std::nullopt;
  double part = 0;
  int used = 0;
  const bool whole = std::string_view(rest) == "Z";
  const bool parts = !whole && std::sscanf(rest, ".%*9[0-9]Z%n", &used) >= 0 && used > 0 && rest[used] == '\0';
  if (!whole && !parts) return std::nullopt;
  if (parts) part = std::strtod(("0" + std::string(rest)).c_str(), nullptr);
  // What 64 bits of nanoseconds can hold.
  constexpr int first_year = 1970 - 1900;
  constexpr int last_year = 2261 - 1900;
  if (time.tm_year < first_year || time.tm_year > last_year) return std::nullopt;
  const auto seconds = seconds_of(time);
  if (!seconds) return std::nullopt;
  return std::int64_t{*seconds} * ns_per_s + std::llround(part * 1e9);
}

}  // namespace campipe
