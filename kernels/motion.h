// How much of a frame moves: motion_rule.h on a GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "core/frame.h"
#include "core/gpu.h"
#include "kernels/motion_rule.h"

namespace campipe {

struct MotionTables;

// The backgrounds of one camera's cells. Made at configuration; must outlive the work that is enqueued with it.
class MotionBackground {
 public:
  MotionBackground() = default;
  // Throws GpuError.
  explicit MotionBackground(const MotionRule& rule);

  // Of the frame enqueued last, once that work is complete; 0 before the first.
  [[nodiscard]] MotionCount count() const;
  [[nodiscard]] MotionTables& tables() const { return *tables_; }

 private:
  std::shared_ptr<MotionTables> tables_;
};

// Compares `in` with the background and lets that adapt. `in` is nv12 or i420 (only luma is read) of the size that the
// background was made for, in memory that the current GPU can use. `step`: since the frame before, in ms, 1 to
// motion_longest_step. Enqueues four kernels on `stream` and returns at once. Throws GpuError when a launch fails.
void enqueue_motion(const FrameView& in, const MotionBackground& background, int step, GpuStream stream);

}  // namespace campipe
