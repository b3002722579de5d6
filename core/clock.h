// The two clocks of the project. Monotonic time is the same in all processes of a machine and is used for
// every latency and deadline; UTC is used only for when a frame was taken.
#pragma once

#include <chrono>
#include <cstdint>

namespace campipe {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC on Linux
using Deadline = Clock::time_point;

inline std::int64_t to_ns(Clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}
inline std::int64_t now_ns() { return to_ns(Clock::now()); }
inline std::int64_t utc_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace campipe
