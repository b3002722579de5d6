// Memory for the frames of a pool (core/frame_pool.h), for processes that allocate their own.
#pragma once

#include <cstddef>

#include "core/frame_pool.h"

namespace campipe {

inline constexpr std::size_t host_frame_alignment = 64;     // a cache line, and the widest vector there is
inline constexpr std::size_t device_frame_alignment = 256;  // of rows: whole vectors, whole lines of the caches

// Throws std::bad_alloc.
FrameBytes host_frame_bytes(std::size_t size);

// CUDA only. Of this thread's GPU, and page-locked; both wait for the device. Throw GpuError.
FrameBytes device_frame_bytes(std::size_t size);
FrameBytes pinned_frame_bytes(std::size_t size);

}  // namespace campipe
