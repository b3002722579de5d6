// A node that takes over the work of one in another worker, at one of its frames (ipc/hand_over.h): which frames are
// its own. It rehearses those before, until its filters have settled and its encoders are open, and then waits for the
// decision about each frame.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/frame.h"
#include "ipc/hand_over.h"

namespace campipe {

// Used by the node's thread.
class TakesOver {
 public:
  enum class Frame : std::uint8_t { rehearse, own, none };

  // `settling`: so much of the stream its filters must have seen.
  TakesOver(std::shared_ptr<HandOver> page, std::chrono::nanoseconds settling)
      : page_(std::move(page)), settling_(settling) {}

  // Whose the frame is; waits for that, and calls `wait` at least every 100 ms meanwhile: false gives up. none: the
  // other node goes on with its work, or the wait was given up.
  Frame look_at(std::uint64_t number, const std::function<bool()>& wait);
  // A frame was rehearsed. `taken`: frames of the ring that the node has taken, with this one. True: the filters have
  // settled, and the node may get ready.
  bool rehearsed(std::int64_t pts, std::uint64_t taken);
  // Frames behind this one need not wait for filters and encoders, and none of them is taken back from its queue.
  void get_ready(std::uint64_t newest);
  // No frame that comes is its own yet.
  [[nodiscard]] bool rehearses() const { return page_->word().state == HandOver::State::proposed; }
  [[nodiscard]] bool is_live() const { return live_; }
  // Its first frame, once it is live.
  [[nodiscard]] std::optional<std::uint64_t> boundary() const { return page_->boundary(); }
  [[nodiscard]] bool is_cancelled() const { return page_->is_cancelled(); }
  [[nodiscard]] HandOver::Due carried(unsigned output) const { return page_->carried(output); }
  // It cannot: the other node goes on. False: that has left its frames already.
  bool cancel() { return page_->cancel(); }
  // No frame will come any more. Waits as look_at() until it is decided; true: it is live.
  bool finish(const std::function<bool()>& wait);

 private:
  std::shared_ptr<HandOver> page_;
  std::chrono::nanoseconds settling_;
  std::optional<std::int64_t> first_pts_;
  bool live_ = false;
};

}  // namespace campipe
