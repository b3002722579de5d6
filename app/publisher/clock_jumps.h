// Whether this machine's clock is set while the rig runs: by a time server's step, by hand, or since the machine has
// slept, during which monotonic time stands still. Summer time is none: UTC goes on.
//
// A clock that NTP slews is a little faster or slower than monotonic time, and never jumps: what a step has to exceed
// grows with the time since the last look.
//
// Pure; used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "core/clock_reading.h"

namespace campipe {

class ClockJumps {
 public:
  explicit ClockJumps(const ClockReading& now) : last_(now) {}

  // To be called several times a second. By how much the clock was set since the last call; above 0: forward.
  std::optional<std::chrono::nanoseconds> observe(const ClockReading& now) {
    const std::int64_t by = now.offset() - last_.offset();
    const std::int64_t slewed = smallest + (now.at - last_.at) / fastest_slew;
    last_ = now;
    if (std::abs(by) <= slewed) return std::nullopt;
    return std::chrono::nanoseconds(by);
  }

 private:
  static constexpr std::int64_t smallest = 100'000'000;  // ns; time servers step from 128 ms on
  static constexpr std::int64_t fastest_slew = 10;       // a tenth of the time that passes; chrony's most is a twelfth

  ClockReading last_;
};

}  // namespace campipe
