// What the two clocks of a machine (core/clock.h) show at one moment.
#pragma once

#include <cstdint>
#include <limits>

#include "core/clock.h"

namespace campipe {

struct ClockReading {
  std::int64_t utc = 0;  // ns
  std::int64_t at = 0;   // ns, monotonic
  [[nodiscard]] std::int64_t offset() const { return utc - at; }
};

// UTC is read between two readings of the monotonic clock; of some such readings the closest pair counts, since the
// thread may have to wait in between.
inline ClockReading read_clocks() {
  constexpr int most_tries = 5;
  constexpr std::int64_t close = 2'000;  // ns
  ClockReading best;
  std::int64_t apart = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < most_tries && apart > close; ++i) {
    const std::int64_t before = now_ns();
    const std::int64_t utc = utc_now_ns();
    const std::int64_t after = now_ns();
    if (after - before >= apart) continue;
    apart = after - before;
    best = {utc, before + apart / 2};
  }
  return best;
}

}  // namespace campipe
