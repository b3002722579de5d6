#include <utility>

#include "app/publisher/server/live/stream.h"

namespace campipe {

LiveViewer::LiveViewer(std::shared_ptr<LiveStream> stream, LiveForm form, const LiveLimits& limits)
    : stream_(std::move(stream)), form_(form), queue_(limits) {}

LiveViewer::~LiveViewer() { stream_->leave(*this); }

void LiveViewer::begin(const std::vector<LivePiece>& group, bool whole) {
  const std::lock_guard lock(mutex_);
  queue_.begin(group, whole);
}

bool LiveViewer::add(const LivePiece& piece, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (over_ || !queue_.add(piece, now)) return false;
  const bool was_empty = queue_.size() == 1;
  if (was_empty) changed_.notify_one();
  return was_empty && ready_ != nullptr;
}

LiveViewer::Next LiveViewer::take(LivePiece& piece, Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return over_ || !queue_.empty(); });
  if (over_) return Next::over;
  if (queue_.empty()) return Next::timeout;
  piece = queue_.take();
  ++sent_;
  bytes_ += piece.bytes->size();
  return Next::piece;
}

std::uint64_t LiveViewer::dropped() const {
  const std::lock_guard lock(mutex_);
  return queue_.dropped();
}

void LiveViewer::on_ready(std::function<void()> ready) {
  std::unique_lock lock(mutex_);
  ready_ = std::make_shared<const std::function<void()>>(std::move(ready));
  if (queue_.empty() && !over_) return;
  lock.unlock();
  wake();
}

void LiveViewer::wake() {
  std::unique_lock lock(mutex_);
  const auto ready = ready_;
  lock.unlock();
  if (ready) (*ready)();
}

void LiveViewer::stop() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

void LiveViewer::end() {
  stop();
  wake();
}

}  // namespace campipe
