#include <algorithm>
#include <utility>

#include "app/publisher/server/live/stream.h"

namespace campipe {

LiveViewer::LiveViewer(std::shared_ptr<LiveStream> stream, LiveForm form, const LiveLimits& limits)
    : stream_(std::move(stream)), form_(form), limits_(limits) {}

LiveViewer::~LiveViewer() { stream_->leave(*this); }

void LiveViewer::begin(const std::vector<LivePiece>& group, bool whole) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  for (const LivePiece& piece : group) queue_.push_back({piece, now, 0});
  need_key_ = group.empty() || !whole;
  if (!group.empty()) audio_from_ = group.front().times.pts;
}

bool LiveViewer::add(const LivePiece& piece, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (over_) return false;
  if (piece.audio && piece.times.pts < audio_from_) return false;
  if (is_full(piece.bytes->size(), now)) make_room(piece, now);
  if (need_key_ && !piece.key) {
    if (losing_) ++dropped_;
    return false;
  }
  if (std::exchange(need_key_, false)) audio_from_ = piece.times.pts;
  losing_ = false;
  const bool was_empty = queue_.empty();
  queue_.push_back({piece, now, piece.bytes->size()});
  queued_bytes_ += piece.bytes->size();
  if (was_empty) changed_.notify_one();
  return was_empty && ready_ != nullptr;
}

// One piece always fits.
bool LiveViewer::is_full(std::size_t more, Clock::time_point now) const {
  if (queue_.empty()) return false;
  return queued_bytes_ + more > limits_.viewer_bytes || now - queue_.front().since > limits_.viewer_wait;
}

// It goes on with the newest key frame: this piece, or one in the queue if what follows it fits, or one to come.
void LiveViewer::make_room(const LivePiece& piece, Clock::time_point now) {
  if (!piece.key) {
    const auto key =
        std::find_if(queue_.rbegin(), queue_.rend(), [](const Queued& queued) { return queued.piece.key; });
    const bool has_key = key != queue_.rend();
    if (has_key) drop_before(static_cast<std::size_t>(queue_.rend() - key) - 1);
    if (has_key && !is_full(piece.bytes->size(), now)) return;
    losing_ = true;
  }
  need_key_ = true;
  drop_before(queue_.size());
}

void LiveViewer::drop_before(std::size_t index) {
  if (index == 0) return;
  for (std::size_t i = 0; i < index; ++i) queued_bytes_ -= queue_[i].counted;
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(index));
  dropped_ += index;
  lost_ = true;
}

LiveViewer::Next LiveViewer::take(LivePiece& piece, Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return over_ || !queue_.empty(); });
  if (over_) return Next::over;
  if (queue_.empty()) return Next::timeout;
  piece = std::move(queue_.front().piece);
  queued_bytes_ -= queue_.front().counted;
  queue_.pop_front();
  piece.after_loss = std::exchange(lost_, false);
  ++sent_;
  bytes_ += piece.bytes->size();
  return Next::piece;
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
