#include "app/publisher/recording/record_times.h"

#include <cstdlib>
#include <ctime>

#include "core/frame_age.h"

namespace campipe {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t longest_transit = 120 * second;  // nothing is held up for longer: see SourceClock

}  // namespace

std::int64_t capture_utc_of(const PacketView& packet) {
  const FrameTimes& times = packet.times;
  const std::int64_t arrival = arrival_utc_of(times);
  const bool by_camera = times.capture_clock == CaptureClock::camera;
  const bool holds = by_camera || std::abs(times.capture_utc - arrival) < longest_transit;
  return times.capture_utc > 0 && holds ? times.capture_utc : arrival;
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
