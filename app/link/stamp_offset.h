// Stamps of another machine's monotonic clock as this one's: each is as long ago here as it was there when the message
// with it was sent. How long messages travel is not known: the quickest one of the last seconds stands for no time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace campipe {

// Times in ns. Used by one thread.
class StampOffset {
 public:
  // A message that was sent at `sent`, by that machine's clock, has come at `now`.
  void heard(std::int64_t sent, std::int64_t now) {
    if (now >= since_ + period) {
      least_ = {std::numeric_limits<std::int64_t>::max(), least_[0]};
      since_ = now;
    }
    least_[0] = std::min(least_[0], now - sent);
  }
  // Of a stamp before the newest message was sent; 0, which is none, stays.
  [[nodiscard]] std::int64_t here(std::int64_t stamp) const {
    return stamp == 0 ? 0 : stamp + std::min(least_[0], least_[1]);
  }

 private:
  // Clocks drift by a hundredth of a percent at most: by a millisecond in this time.
  static constexpr std::int64_t period = 10'000'000'000;

  std::array<std::int64_t, 2> least_{std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::max()};
  std::int64_t since_ = std::numeric_limits<std::int64_t>::min() / 2;
};

}  // namespace campipe
