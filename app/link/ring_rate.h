// How fast a peer may begin rings: for each, memory of many frames is made anew.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "core/clock.h"

namespace campipe {

// Of one connection. Used by one thread.
class RingRate {
 public:
  // A camera whose frames change their size, or a process that starts anew, begins a few.
  static constexpr std::size_t most = 10;  // in any second

  // A ring is to begin. False: it would be one too many.
  bool allows(Clock::time_point now) {
    Clock::time_point& oldest = begun_.at(next_);
    if (used_ == most && now - oldest < std::chrono::seconds(1)) return false;
    oldest = now;
    next_ = (next_ + 1) % most;
    if (used_ < most) ++used_;
    return true;
  }

 private:
  std::array<Clock::time_point, most> begun_{};  // the last ones; the oldest is at next_, once all are used
  std::size_t next_ = 0;
  std::size_t used_ = 0;
};

}  // namespace campipe
