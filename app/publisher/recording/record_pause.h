// A recording that waits for its disk: when it may try again, and how many packets are missing meanwhile. Used by one
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/clock.h"

namespace campipe {

class RecordPause {
 public:
  // Pauses the recording, or prolongs the pause after another failed attempt. `lost`: packets that are in no file.
  // `waits`: the next attempt is some seconds away. Returns false where it was paused already.
  bool begin(std::uint64_t lost, bool waits) {
    missing_ += lost;
    retry_at_ = Clock::now() + (waits ? Clock::duration(retry_interval) : Clock::duration(0));
    return !std::exchange(paused_, true);
  }
  [[nodiscard]] bool is_on() const { return paused_; }
  [[nodiscard]] bool may_try() const { return !paused_ || Clock::now() >= retry_at_; }
  // One more packet is in no file.
  void leave_out() { missing_ += paused_ ? 1 : 0; }
  // Returns how many packets are missing; nothing: it was not on.
  std::optional<std::uint64_t> end() {
    if (!std::exchange(paused_, false)) return std::nullopt;
    return std::exchange(missing_, 0);
  }

 private:
  static constexpr auto retry_interval = std::chrono::seconds(3);

  bool paused_ = false;
  Clock::time_point retry_at_{};
  std::uint64_t missing_ = 0;  // packets since it began
};

}  // namespace campipe
