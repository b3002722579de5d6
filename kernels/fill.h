// Fills parts of frames with a colour.
#pragma once

#include "core/frame.h"
#include "core/frame_colour.h"
#include "core/frame_region.h"
#include "core/gpu.h"

namespace campipe {

// Writes every sample of the rows of `out`, nv12 in memory that the current GPU can use, that is not in `inner`.
// Enqueues one kernel on `stream` and returns at once. Throws GpuError when the launch fails.
void enqueue_fill_around(const MutableFrameView& out, const FrameRegion& inner, const YuvColour& colour,
                         GpuStream stream);

}  // namespace campipe
