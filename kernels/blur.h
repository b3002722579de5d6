// A symmetric blur of all planes.
#pragma once

#include <cstdint>
#include <span>

#include "core/frame.h"
#include "core/gpu.h"
#include "kernels/device_table.h"

namespace campipe {

// A kernel as the GPU wants it. Made at configuration; must outlive the work that is enqueued with it.
class BlurKernel {
 public:
  BlurKernel() = default;
  // `half`: the weights in 16384ths from the centre outwards, the same in all directions; together with those of the
  // other side they add up to 16384. At most 72 of them beside the centre. Throws GpuError.
  explicit BlurKernel(std::span<const std::int16_t> half);

  [[nodiscard]] const DeviceTable& fragments() const { return fragments_; }
  [[nodiscard]] int shape() const { return shape_; }

 private:
  int shape_ = 0;
  DeviceTable fragments_;
};

// `out`, of the same size as `in`, is `in` convolved with the kernel, across and down; beyond its borders it is
// mirrored about its first and last sample. Both are nv12 in memory that the current GPU can use, and do not overlap.
// Of `out` the rows that it has are made. Enqueues one kernel on `stream` and returns at once. Throws GpuError when the
// launch fails.
void enqueue_blur(const FrameView& in, const MutableFrameView& out, const BlurKernel& kernel, GpuStream stream);

}  // namespace campipe
