// Frame rings that were replaced and that a GPU fills: what readers map and wait for is the writer's, so it keeps them
// until their readers are done. A worker that was restarted may still get to see a ring that is replaced meanwhile; one
// that died with frames of it never gives them back, since only the newest ring learns of its death.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "core/clock.h"
#include "ipc/frame_ring.h"

namespace campipe {

// Any thread.
class RetiredRings {
 public:
  static constexpr auto kept_for = std::chrono::seconds(30);     // at least
  static constexpr auto kept_at_most = std::chrono::minutes(5);  // a live reader is done within seconds

  void add(std::shared_ptr<FrameRingWriter> ring, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    rings_.push_back({std::move(ring), now});
  }

  // To be called now and then.
  void drop_old(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    std::erase_if(rings_, [now](const Ring& retired) {
      const auto age = now - retired.since;
      return age > kept_at_most || (age > kept_for && retired.ring->drained());
    });
  }

 private:
  struct Ring {
    std::shared_ptr<FrameRingWriter> ring;
    Clock::time_point since;
  };
  std::mutex mutex_;
  std::vector<Ring> rings_;
};

}  // namespace campipe
