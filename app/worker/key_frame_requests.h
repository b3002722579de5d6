// New viewers begin with the newest key frame that there is: where that is too old, an output's next frame shall be
// one.
#pragma once

#include <cstdint>
#include <utility>

#include "ipc/audience.h"

namespace campipe {

// Used by one thread.
class KeyFrameRequests {
 public:
  // Viewers who are there already have been served.
  explicit KeyFrameRequests(const Audience& audience) : audience_(audience), arrivals_(audience.arrivals) {}

  // `pts`: of the next frame, in nanoseconds, as in sent().
  [[nodiscard]] bool ask(std::int64_t pts) {
    const std::uint32_t arrivals = audience_.arrivals;
    return std::exchange(arrivals_, arrivals) != arrivals && pts - last_key_pts_ >= recent;
  }
  // A key frame has gone to the publisher.
  void sent(std::int64_t pts) { last_key_pts_ = pts; }

 private:
  static constexpr std::int64_t recent = 500'000'000;  // ns

  const Audience& audience_;
  std::uint32_t arrivals_;  // of viewers, who have been served
  std::int64_t last_key_pts_ = 0;
};

}  // namespace campipe
