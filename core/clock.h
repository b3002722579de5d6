// The two clocks of the project, which core/clock.cpp alone reads. Monotonic time is the same in all processes of a
// machine and is used for every latency and deadline; UTC is used only for when a frame was taken, and for what people
// see. Any thread.
//
// A program that defines Clock::now() and utc_now() itself, as a simulation does, has these in their place: the linker
// takes core/clock.cpp, a library of its own (campipe_clock), only for what is still missing.
#pragma once

#include <chrono>
#include <cstdint>

namespace campipe {

// CLOCK_MONOTONIC on Linux. Its times are those of std::chrono::steady_clock, as the standard library's waits take
// them.
struct Clock {
  using time_point = std::chrono::steady_clock::time_point;
  using duration = time_point::duration;
  using rep = duration::rep;
  using period = duration::period;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};
using Deadline = Clock::time_point;

std::chrono::system_clock::time_point utc_now() noexcept;

inline std::int64_t to_ns(Clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}
inline std::int64_t now_ns() { return to_ns(Clock::now()); }
inline std::int64_t utc_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(utc_now().time_since_epoch()).count();
}

}  // namespace campipe
