#include "app/publisher/server/live/audience.h"

namespace campipe {

void LiveAudience::enter() {
  const std::lock_guard lock(mutex_);
  ++viewers_;
  ++changes_;
}

void LiveAudience::leave() {
  const std::lock_guard lock(mutex_);
  if (--viewers_ == 0) ++changes_;
}

// Viewers come and go on many threads: one of them reports for all.
void LiveAudience::report() {
  if (!on_change_) return;
  std::unique_lock lock(mutex_);
  if (reporting_) return;
  reporting_ = true;
  while (!closed_ && changes_reported_ != changes_) {
    changes_reported_ = changes_;
    const bool watched = viewers_ > 0;
    lock.unlock();
    on_change_(watched);
    lock.lock();
  }
  reporting_ = false;
  reported_.notify_all();
}

void LiveAudience::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  reported_.wait(lock, [this] { return !reporting_; });
}

std::uint64_t LiveAudience::count() const {
  const std::lock_guard lock(mutex_);
  return viewers_;
}

}  // namespace campipe
