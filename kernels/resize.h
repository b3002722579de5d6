// Scaling with weights that the caller computes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// One direction. Output position i is Σ weights[i · taps + k] · input[first[i] + k]; the weights are 16384ths, at least
// 0, and add up to 16384; `first` never falls. What would be beyond the input has no weight.
struct AxisWeights {
  int taps = 0;
  std::span<const int> first;
  std::span<const std::int16_t> weights;
};

// Of one plane, in positions (two bytes where chroma is interleaved).
struct PlaneWeights {
  AxisWeights across;
  AxisWeights down;
  int width = 0;  // of the output
  int height = 0;
};

struct ResizeTables;

// The weights as the GPU wants them. Made at configuration; must outlive the work that is enqueued with it.
class ResizeKernel {
 public:
  ResizeKernel() = default;
  // Luma's and chroma's. Throws GpuError.
  explicit ResizeKernel(const std::array<PlaneWeights, 2>& planes);

  [[nodiscard]] const ResizeTables& tables() const { return *tables_; }

 private:
  std::shared_ptr<const ResizeTables> tables_;
};

// Both are nv12 in memory that the current GPU can use, do not overlap, and have the sizes that `kernel` was made for.
// Of `out` the rows that it has are made, which may be none. Enqueues one kernel at most on `stream` and returns at
// once. Throws GpuError when the launch fails.
void enqueue_resize(const FrameView& in, const MutableFrameView& out, const ResizeKernel& kernel, GpuStream stream);

}  // namespace campipe
