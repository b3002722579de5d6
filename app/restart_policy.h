// When a process that died is started again, and when a camera is set aside. Pure functions of times, so that both
// can be tested without processes.
#pragma once

#include <deque>

#include "core/clock.h"

namespace campipe {

// At once after the first death; a process that dies soon after its start, again and again, waits longer each time.
class RestartPolicy {
 public:
  explicit RestartPolicy(Clock::duration longest_wait = std::chrono::seconds(30)) : longest_wait_(longest_wait) {}
  // When to start again a process that was started at `started` and found dead at `now`.
  Clock::time_point on_death(Clock::time_point started, Clock::time_point now);

 private:
  Clock::duration longest_wait_;
  int quick_deaths_ = 0;
};

// A camera that was to blame for the death of its process three times within a minute is set aside.
class BlamePolicy {
 public:
  // True: set it aside.
  bool on_fault(Clock::time_point now);

 private:
  std::deque<Clock::time_point> faults_;
};

}  // namespace campipe
