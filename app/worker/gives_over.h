// A node whose work goes over to another worker, at one of its frames (ipc/hand_over.h): which frames are still its
// own. It leaves the rest where a key frame is due, so that these stay where they are, or after some time in any case.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "ipc/hand_over.h"
#include "stages/encoders/key_frame_grid.h"

namespace campipe {

// Used by the node's thread.
class GivesOver {
 public:
  static constexpr auto patience = std::chrono::seconds(2);  // with the grid, once the other node is ready

  // `grid`: of the key frames that it encodes; none: one place is as good as another.
  GivesOver(std::shared_ptr<HandOver> page, std::optional<KeyFrameGrid> grid) : page_(std::move(page)), grid_(grid) {}

  // For each frame, before anything is done with it. True: it is the other node's, as are all that follow. `taken`:
  // frames of the ring that the node has taken, with this one; of a mosaic's, of no meaning.
  bool leaves(std::uint64_t number, std::int64_t media_time, std::uint64_t taken);
  // Before leaves(): what was due before that frame.
  void carry(unsigned output, const HandOver::Due& due) { page_->carry(output, due); }
  [[nodiscard]] bool is_cancelled() const { return page_->is_cancelled(); }
  // The node ends, of itself. False: it has left its frames to the other one.
  bool cancel() { return page_->cancel(); }

 private:
  std::shared_ptr<HandOver> page_;
  std::optional<KeyFrameGrid> grid_;
  bool knows_grid_ = false;  // from the frame before
  std::optional<Deadline> leave_by_;
};

}  // namespace campipe
