#include "app/publisher/recording/record_times.h"

#include <ctime>

#include "core/nanoseconds.h"

namespace campipe {

// A day ends at midnight by the calendar, whether it has 23 or 25 hours. What is shorter counts on, since in an hour
// that comes twice the calendar does not show which one is meant.
std::int64_t next_segment_boundary(std::int64_t utc, std::chrono::nanoseconds length) {
  const std::time_t seconds = utc / ns_per_s;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  const std::int64_t shown = utc + std::int64_t{local.tm_gmtoff} * ns_per_s;
  const std::int64_t next_shown = (shown / length.count() + 1) * length.count();
  const std::time_t next_seconds = next_shown / ns_per_s;
  std::tm next{};
  ::gmtime_r(&next_seconds, &next);
  next.tm_isdst = -1;
  const std::int64_t by_calendar = std::int64_t{::mktime(&next)} * ns_per_s + next_shown % ns_per_s;
  const std::int64_t by_counting = utc + next_shown - shown;
  const bool whole_day = length.count() >= 24 * 3600 * ns_per_s;
  return whole_day && by_calendar > utc ? by_calendar : by_counting;
}

}  // namespace campipe
