#include <cuda_runtime.h>

#include "core/cuda.h"
#include "tests/gpu/gpu_ring_work.h"

namespace campipe::test {
namespace {

constexpr unsigned blocks = 32;
constexpr unsigned threads = 256;

// pattern_word() of ring_test_support.h, which checks on the CPU what is written here.
__device__ std::uint64_t word_at(std::uint64_t number, std::size_t word) {
  return (number * 0x9e3779b97f4a7c15U) ^ (word * sizeof(std::uint64_t) * 0xc2b2ae3d27d4eb4fU + 1);
}

__device__ std::size_t first_word() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t stride() { return std::size_t{gridDim.x} * blockDim.x; }

__device__ std::int64_t gpu_clock() {
  std::int64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void delay_kernel(std::int64_t ns) {
  const std::int64_t begin = gpu_clock();
  while (gpu_clock() - begin < ns) __nanosleep(1000);
}

__global__ void pattern_kernel(std::uint64_t* words, std::size_t count, std::uint64_t number) {
  for (std::size_t at = first_word(); at < count; at += stride()) words[at] = word_at(number, at);
}

__global__ void check_kernel(const std::uint64_t* words, std::size_t count, std::uint64_t number,
                             unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (std::size_t at = first_word(); at < count; at += stride()) mine += words[at] != word_at(number, at) ? 1 : 0;
  if (mine != 0) atomicAdd_system(wrong, mine);
}

__global__ void stamp_kernel(volatile std::uint64_t* word, std::uint64_t value) {
  *word = value;
  __threadfence_system();
}

}  // namespace

void enqueue_delay(std::int64_t ns, GpuStream stream) {
  delay_kernel<<<1, 1, 0, stream>>>(ns);
  cuda_check(cudaGetLastError(), "delay");
}

void enqueue_pattern(std::span<std::uint8_t> bytes, std::uint64_t number, GpuStream stream) {
  auto* words = reinterpret_cast<std::uint64_t*>(bytes.data());
  pattern_kernel<<<blocks, threads, 0, stream>>>(words, bytes.size() / sizeof(std::uint64_t), number);
  cuda_check(cudaGetLastError(), "pattern");
}

void enqueue_check(std::span<const std::uint8_t> bytes, std::uint64_t number, std::uint64_t* wrong, GpuStream stream) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  const auto* words = reinterpret_cast<const std::uint64_t*>(bytes.data());
  check_kernel<<<blocks, threads, 0, stream>>>(words, bytes.size() / sizeof(std::uint64_t), number,
                                               reinterpret_cast<unsigned long long*>(wrong));
  cuda_check(cudaGetLastError(), "check");
}

void enqueue_stamp(std::uint64_t* word, std::uint64_t value, GpuStream stream) {
  stamp_kernel<<<1, 1, 0, stream>>>(word, value);
  cuda_check(cudaGetLastError(), "stamp");
}

}  // namespace campipe::test
