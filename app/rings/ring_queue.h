// Rings of one camera on their way from a process's main thread to the camera's, and when that is to end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace campipe {

// `Ring`: what the main thread was sent of one.
template <typename Ring>
class RingQueue {
 public:
  // Main thread.
  void add(const Ring& ring) {
    const std::lock_guard lock(mutex_);
    rings_.push_back(ring);
    changed_.notify_one();
  }
  // No further ring will come.
  void finish() {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    changed_.notify_one();
  }
  // Nor is there time for those that are there.
  void abandon() {
    abandoned_ = true;
    finish();
  }

  // The camera's thread. The next ring; nothing: none came for so long, or is_over().
  std::optional<Ring> next(std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return finishing_ || !rings_.empty(); });
    if (rings_.empty()) return std::nullopt;
    Ring ring = std::move(rings_.front());
    rings_.pop_front();
    return ring;
  }
  // There is no ring, and none will come.
  [[nodiscard]] bool is_over() const {
    const std::lock_guard lock(mutex_);
    return finishing_ && rings_.empty();
  }
  [[nodiscard]] bool is_abandoned() const { return abandoned_; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ring> rings_;
  bool finishing_ = false;
  std::atomic<bool> abandoned_{false};
};

}  // namespace campipe
