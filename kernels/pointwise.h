// Point-wise filters: each sample through a table.
#pragma once

#include <cstdint>
#include <span>

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

using SampleTable = std::span<const std::uint8_t, 256>;

// out(x, y) = table[in(left + x, top + y)], with one table for luma and one for both chroma components; `left` and
// `top` are even, and out's rectangle lies in `in`. Both are nv12 in memory that the current GPU can use, and do not
// overlap. Of `out` the rows that it has are made. Reads whole 32-bit words, so up to 3 bytes beside the rectangle.
// Enqueues one kernel on `stream` and returns at once; the tables are copied. Throws GpuError when the launch fails.
void enqueue_pointwise(const FrameView& in, const MutableFrameView& out, SampleTable luma, SampleTable chroma, int left,
                       int top, GpuStream stream);

}  // namespace campipe
