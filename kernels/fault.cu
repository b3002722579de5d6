// What a broken kernel does to its process, for tests of what then happens.
#include <cstdlib>

#include "core/cuda.h"
#include "core/failpoint.h"

namespace campipe {
namespace {

__global__ void write_to(int* address) { *address = 1; }

}  // namespace

void gpu_fault() {
  int* const nowhere = nullptr;
  write_to<<<1, 1>>>(nowhere);
  if (cudaStreamSynchronize(nullptr) == cudaSuccess) std::abort();  // the test would test nothing
}

}  // namespace campipe
