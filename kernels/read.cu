#include "kernels/launch.h"
#include "kernels/read.h"

namespace campipe {
namespace {

constexpr int block = 256;
constexpr int batch = 4;  // loads of a thread that are on their way at once

__global__ void __launch_bounds__(block) read_kernel(const uint4* from, std::size_t count, unsigned* sum) {
  const std::size_t step = std::size_t{gridDim.x} * block;
  unsigned all = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < count; i += batch * step) {
    uint4 words[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k) words[k] = i + k * step < count ? from[i + k * step] : uint4{};
#pragma unroll
    for (int k = 0; k < batch; ++k) all ^= words[k].x ^ words[k].y ^ words[k].z ^ words[k].w;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) all ^= __shfl_xor_sync(0xffffffff, all, lanes);
  if (threadIdx.x % 32 == 0) atomicXor(sum, all);
}

}  // namespace

void enqueue_read(const std::uint8_t* from, std::size_t bytes, unsigned* sum, GpuStream stream) {
  const std::size_t count = bytes / sizeof(uint4);
  read_kernel<<<blocks_for(static_cast<std::int64_t>(count / batch), block, 8), block, 0, stream>>>(
      reinterpret_cast<const uint4*>(from), count, sum);
  check_launch("cannot read");
}

}  // namespace campipe
