// What waits for one viewer of a live stream: bounded in bytes and in time. One piece always fits. Where the next one
// does not, what waits is lost, up to the newest key frame. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "app/publisher/server/live/piece.h"
#include "core/clock.h"

namespace campipe {

class ViewerQueue {
 public:
  explicit ViewerQueue(const LiveLimits& limits) : limits_(limits) {}

  // The newest group, which does not count against the limits. `whole`: what comes next follows it without a gap.
  void begin(const std::vector<LivePiece>& group, bool whole);
  // False: it is not for this viewer, or is lost.
  bool add(const LivePiece& piece, Clock::time_point now);
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::size_t size() const { return pieces_.size(); }
  // The oldest, which there must be.
  LivePiece take();
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }  // pieces lost for slowness

 private:
  struct Queued {
    LivePiece piece;
    Clock::time_point since;
    std::size_t counted;  // bytes, against the limit
  };

  [[nodiscard]] bool is_full(std::size_t more, Clock::time_point now) const;
  void make_room(const LivePiece& piece, Clock::time_point now);
  void drop_before(std::size_t index);

  const LiveLimits limits_;
  std::deque<Queued> pieces_;
  std::size_t bytes_ = 0;  // those that count
  bool need_key_ = true;
  std::int64_t audio_from_ = 0;  // the pts of the key frame with which it began: audio before that is not for it
  bool losing_ = false;          // what is not added now is lost to slowness
  bool lost_ = false;            // since the piece that was taken last
  std::uint64_t dropped_ = 0;
};

}  // namespace campipe
