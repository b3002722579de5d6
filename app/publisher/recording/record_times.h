// The times that decide into which file a packet is recorded, and how that is named. Plain functions, for any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/clock.h"

namespace campipe {

// The first moment after `utc` (ns) at which the local clock shows an integer of `length` since midnight.
std::int64_t next_segment_boundary(std::int64_t utc, std::chrono::nanoseconds length);

// When the rig was started, by this machine's clock as it was when this process asked, and as it is.
class RunStart {
 public:
  // Of this one.
  RunStart() : RunStart(std::chrono::nanoseconds(0)) {}
  explicit RunStart(std::chrono::nanoseconds ago) : utc_(utc_now_ns() - ago.count()), at_(now_ns() - ago.count()) {}
  // A clock that is set back, or forward, makes no file older than the rig that recorded it.
  [[nodiscard]] std::int64_t earliest_utc() const { return std::min(utc_, utc_now_ns() - (now_ns() - at_)); }

 private:
  std::int64_t utc_;
  std::int64_t at_;  // monotonic
};

}  // namespace campipe
