#include "app/publisher/recording/record_times.h"

#include <cstdlib>
#include <ctime>

namespace campipe {
namespace {

constexpr std::int64_t second = 1'000'000'000;

}  // namespace

std::int64_t arrival_utc_of(const PacketView& packet) {
  return utc_now_ns() - (packet.times.arrival > 0 ? now_ns() - packet.times.arrival : 0);
}

std::int64_t capture_utc_of(const PacketView& packet) {
  return packet.times.capture_utc > 0 ? packet.times.capture_utc : arrival_utc_of(packet);
}

// A day ends at midnight by the calendar, whether it has 23 or 25 hours. What is shorter counts on, since in an hour
// that comes twice the calendar does not show which one is meant.
std::int64_t next_segment_boundary(std::int64_t utc, std::chrono::nanoseconds length) {
  const std::time_t seconds = utc / second;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  const std::int64_t shown = utc + std::int64_t{local.tm_gmtoff} * second;
  const std::int64_t next_shown = (shown / length.count() + 1) * length.count();
  const std::time_t next_seconds = next_shown / second;
  std::tm next{};
  ::gmtime_r(&next_seconds, &next);
  next.tm_isdst = -1;
  const std::int64_t by_calendar = std::int64_t{::mktime(&next)} * second + next_shown % second;
  const std::int64_t by_counting = utc + next_shown - shown;
  const bool whole_day = length.count() >= 24 * 3600 * second;
  return whole_day && by_calendar > utc ? by_calendar : by_counting;
}

}  // namespace campipe
