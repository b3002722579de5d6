#include "tests/bench/gpu_hog.h"

namespace campipe {
namespace {

constexpr std::size_t smallest_bite = std::size_t{2} << 20;

}  // namespace

void GpuHog::eat() {
  use_gpu(gpu_);
  std::size_t free = 0;
  std::size_t all = 0;
  cuda_check(cudaMemGetInfo(&free, &all), "asking for free memory");
  std::size_t bite = free > keep_free_ ? free - keep_free_ : 0;
  while (bite >= smallest_bite) {
    try {
      eaten_.push_back(allocate_on_device(bite));
      held_ += bite;
      return;
    } catch (const GpuError& error) {
      if (error.kind != GpuError::Kind::out_of_memory) throw;
      bite /= 2;
    }
  }
}

}  // namespace campipe
