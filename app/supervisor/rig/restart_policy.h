// When a process that died is started again, and when a camera is quarantined. Pure functions of times, so that both
// can be tested without processes.
#pragma once

#include <deque>

#include "core/clock.h"

namespace campipe {

// At once after the first death; then the longer the more often a process died within the last seconds in which it ran.
// What it waits does not count: ten seconds of work, in however many lives, make up for a death.
class RestartPolicy {
 public:
  explicit RestartPolicy(Clock::duration longest_wait = std::chrono::seconds(30)) : longest_wait_(longest_wait) {}
  // When to start again a process that was started at `started` and found dead at `now`.
  // `again`: however long it lived, it is about to die again.
  Clock::time_point on_death(Clock::time_point started, Clock::time_point now, bool again = false);

 private:
  Clock::duration longest_wait_;
  Clock::duration worked_{0};             // in all lives
  std::deque<Clock::duration> deaths_{};  // by worked_; those that count, of the newest
};

// A camera that was to blame for the death of its process three times within a minute is quarantined.
class QuarantinePolicy {
 public:
  // `unnoticed`: for how long the fault, a hang, had been there before it was found. That time does not count, or slow
  // faults would never be three within a minute. True: set the camera aside.
  bool on_fault(Clock::time_point now, Clock::duration unnoticed = {});

 private:
  std::deque<Clock::time_point> faults_;
};

}  // namespace campipe
