// An unsharp mask.
#pragma once

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// Luma: out = clip(in + amount / 4096 · (in - soft)), soft = in convolved with k·kᵀ, k = [1 4 6 4 1] / 16, mirrored
// beyond the borders about the first and last sample; `amount`: 0 to 20480. Chroma is copied. `out` has the size of
// `in`; both are nv12 in memory that the current GPU can use, and do not overlap. Of `out` the rows that it has are
// made. Enqueues one kernel on `stream` and returns at once. Throws GpuError when the launch fails.
void enqueue_sharpen(const FrameView& in, const MutableFrameView& out, int amount, GpuStream stream);

}  // namespace campipe
