// How the kernels are launched: grids that fill the GPU once and walk over their work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/cuda.h"

namespace campipe {

// Of this thread's GPU.
inline int multiprocessor_count() {
  int device = 0;
  int count = 0;
  cuda_check(cudaGetDevice(&device), "cannot find out the current GPU");
  cuda_check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cannot ask the GPU for its size");
  return count;
}

// As many blocks as the work needs, and at most `per_multiprocessor` for each of the GPU's.
inline unsigned blocks_for(std::int64_t threads, int block, int per_multiprocessor) {
  const std::int64_t needed = (threads + block - 1) / block;
  const std::int64_t most = std::int64_t{multiprocessor_count()} * per_multiprocessor;
  return static_cast<unsigned>(std::clamp<std::int64_t>(needed, 1, most));
}

inline void check_launch(const char* kernel) { cuda_check(cudaGetLastError(), kernel); }

template <typename Byte>
bool is_aligned(Byte* data, std::ptrdiff_t stride, std::size_t to) {
  return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(stride)) % to == 0;
}

}  // namespace campipe
