// Makes one of a frame's fields out of the other.
#pragma once

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// `out`, of the same size as `in`, has the lines of `in` whose number is even (`field` 0) or odd (1). Of the others
// it has what deinterlace_rule.h makes of them: a sample that shows combing, or a neighbour of which does, is
// edge_directed(), the others are as in `in`. Both are nv12 in memory that the current GPU can use, and do not overlap.
// Of `out` the rows that it has are made. Enqueues one kernel on `stream` and returns at once. Throws GpuError when the
// launch fails.
void enqueue_deinterlace(const FrameView& in, const MutableFrameView& out, int field, GpuStream stream);

}  // namespace campipe
