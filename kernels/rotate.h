// Turns frames.
#pragma once

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// `out` is `in`, turned clockwise by `degrees`: 90, 180 or 270; its width and height are those of `in`, for 90 and 270
// the other way round. Both are nv12 in memory that the current GPU can use, and do not overlap. Of `out` the rows that
// it has are made. For 180, reads whole 32-bit words, so up to 3 bytes beside the frame. Enqueues one kernel on
// `stream` and returns at once. Throws GpuError when the launch fails.
void enqueue_rotate(const FrameView& in, const MutableFrameView& out, int degrees, GpuStream stream);

}  // namespace campipe
