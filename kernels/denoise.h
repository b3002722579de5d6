// Non-local means.
#pragma once

#include "core/frame.h"
#include "core/gpu.h"
#include "kernels/denoise_rule.h"

namespace campipe {

// Each sample of `out`, which has the size of `in`, by `rule` from the samples of its component. Both are nv12 in
// memory that the current GPU can use, and do not overlap. Of `out` the rows that it has are made. Enqueues one kernel
// on `stream` and returns at once. Throws GpuError when the launch fails.
void enqueue_denoise(const FrameView& in, const MutableFrameView& out, const DenoiseRule& rule, GpuStream stream);

}  // namespace campipe
