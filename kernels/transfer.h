// Frames on their way to and from the filters' format, nv12 in device memory. All pixels lie in memory that the
// current GPU can use; everything is enqueued on `stream` and returns at once. Throws GpuError when a launch fails.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// The two chroma planes of i420 → the rows of `out`'s plane 1. `stride`: in bytes, of both planes. `out` gives the
// size.
void enqueue_interleave_chroma(const std::uint8_t* u, const std::uint8_t* v, std::ptrdiff_t stride,
                               const MutableFrameView& out, GpuStream stream);

// 10-bit samples, in the upper bits of 16-bit words (P010), → 8 bits, rounded. Strides in bytes, even.
void enqueue_p010_to_nv12(const std::uint8_t* luma, std::ptrdiff_t luma_stride, const std::uint8_t* chroma,
                          std::ptrdiff_t chroma_stride, const MutableFrameView& out, GpuStream stream);

}  // namespace campipe
