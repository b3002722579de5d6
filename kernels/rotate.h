// Turns frames.
#pragma once

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// Clockwise by `angle` degrees: 0, 90, 180 or 270. Behind that left and right change places where it is mirrored.
struct Turn {
  int angle = 0;
  bool mirrored = false;
  [[nodiscard]] bool is_quarter() const { return angle % 180 != 0; }
};

// `out` is `in`, turned; its width and height are those of `in`, for a quarter turn the other way round. Both are nv12
// in memory that the current GPU can use, and do not overlap. Of `out` the rows that it has are made. For 0 and 180,
// reads whole 32-bit words, so up to 3 bytes beside the frame. Enqueues one kernel on `stream` and returns at once.
// Throws GpuError when the launch fails.
void enqueue_rotate(const FrameView& in, const MutableFrameView& out, const Turn& turn, GpuStream stream);

}  // namespace campipe
