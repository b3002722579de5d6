// When a thread that does not beat is taken for hung. A pure function of what was seen and when, so that hours of
// silence can be tested in no time.
//
// A thread is well as long as it beats, waits for something until a time that it has named, or uses the CPU. So one
// that waits for a camera, or whose encoder has too few cores, is left alone; one that is in a deadlock or sleeps is
// found. What uses the CPU and gets nowhere is found as well, but later. The time in which it waited for a CPU is no
// silence of its.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace campipe {

struct HangLimits {
  std::chrono::nanoseconds idle;     // without heartbeat, CPU time and named wait
  std::chrono::nanoseconds busy;     // without heartbeat, but with as much CPU time
  std::chrono::nanoseconds longest;  // without heartbeat, however much CPU time, and behind any named wait
};

// A process's main thread, which beats ten times a second and waits for nothing else.
inline constexpr HangLimits process_hangs{std::chrono::seconds(1), std::chrono::seconds(10), std::chrono::seconds(10)};
// A camera's thread.
inline constexpr HangLimits thread_hangs{std::chrono::seconds(10), std::chrono::seconds(60), std::chrono::minutes(10)};

class ThreadWatch {
 public:
  // In ns, as in ThreadBlock. Whatever a process writes there is taken.
  struct Signs {
    std::int64_t beat = 0;
    std::int64_t wait_until = 0;
    std::int64_t cpu_time = 0;
    std::int64_t cpu_waited = 0;
  };

  explicit ThreadWatch(const HangLimits& limits) : limits_(limits) {}
  // To be called several times a second. For how long the thread has been silent, if it hangs.
  std::optional<std::chrono::nanoseconds> hung(const Signs& given, std::int64_t now);

 private:
  HangLimits limits_;
  std::int64_t beat_ = 0;        // the newest
  std::int64_t cpu_time_ = 0;    // as seen last
  std::int64_t used_ = 0;        // CPU time since that heartbeat
  std::int64_t used_then_ = 0;   // `used_` at `active_`
  std::int64_t cpu_waited_ = 0;  // as seen last
  std::int64_t looked_ = 0;      // when that was
  std::int64_t excused_ = 0;     // how much of the time since that heartbeat it waited for a CPU
  std::int64_t active_ = 0;      // when it was seen last to be well, by a clock that stood still meanwhile
};

}  // namespace campipe
