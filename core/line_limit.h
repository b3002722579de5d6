// Keeps one kind of log line from filling the log: one in each interval, which has the number of those left out.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/clock.h"

namespace campipe {

class LineLimit {
 public:
  explicit LineLimit(std::chrono::nanoseconds interval) : interval_(interval) {}

  // For a line that is due: what is to stand behind it, or nothing where it is to be left out.
  std::optional<std::string> pass(Clock::time_point now = Clock::now()) {
    if (now < next_) {
      ++left_out_;
      return std::nullopt;
    }
    const std::string more =
        left_out_ > 0 ? " (and " + std::to_string(left_out_) + " times since this was logged)" : "";
    left_out_ = 0;
    next_ = now + interval_;
    return more;
  }

 private:
  std::chrono::nanoseconds interval_;
  Clock::time_point next_ = Clock::time_point::min();
  int left_out_ = 0;
};

}  // namespace campipe
