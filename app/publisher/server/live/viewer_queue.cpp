#include "app/publisher/server/live/viewer_queue.h"

#include <algorithm>
#include <utility>

namespace campipe {

void ViewerQueue::begin(const std::vector<LivePiece>& group, bool whole) {
  const Clock::time_point now = Clock::now();
  for (const LivePiece& piece : group) pieces_.push_back({piece, now, 0});
  need_key_ = group.empty() || !whole;
  if (!group.empty()) audio_from_ = group.front().times.pts;
}

bool ViewerQueue::add(const LivePiece& piece, Clock::time_point now) {
  if (piece.audio && piece.times.pts < audio_from_) return false;
  if (is_full(piece.bytes->size(), now)) make_room(piece, now);
  if (need_key_ && !piece.key) {
    if (losing_) ++dropped_;
    return false;
  }
  if (std::exchange(need_key_, false)) audio_from_ = piece.times.pts;
  losing_ = false;
  pieces_.push_back({piece, now, piece.bytes->size()});
  bytes_ += piece.bytes->size();
  return true;
}

LivePiece ViewerQueue::take() {
  LivePiece piece = std::move(pieces_.front().piece);
  bytes_ -= pieces_.front().counted;
  pieces_.pop_front();
  piece.after_loss = std::exchange(lost_, false);
  return piece;
}

bool ViewerQueue::is_full(std::size_t more, Clock::time_point now) const {
  if (pieces_.empty()) return false;
  return bytes_ + more > limits_.viewer_bytes || now - pieces_.front().since > limits_.viewer_wait;
}

// It goes on with the newest key frame: this piece, or one in the queue if what follows it fits, or one to come.
void ViewerQueue::make_room(const LivePiece& piece, Clock::time_point now) {
  if (!piece.key) {
    const auto key =
        std::find_if(pieces_.rbegin(), pieces_.rend(), [](const Queued& queued) { return queued.piece.key; });
    const bool has_key = key != pieces_.rend();
    if (has_key) drop_before(static_cast<std::size_t>(pieces_.rend() - key) - 1);
    if (has_key && !is_full(piece.bytes->size(), now)) return;
    losing_ = true;
  }
  need_key_ = true;
  drop_before(pieces_.size());
}

void ViewerQueue::drop_before(std::size_t index) {
  if (index == 0) return;
  for (std::size_t i = 0; i < index; ++i) bytes_ -= pieces_[i].counted;
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(index));
  dropped_ += index;
  lost_ = true;
}

}  // namespace campipe
