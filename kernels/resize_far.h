// Resizing to less than about a sixth of the size: a warp makes one output position after the other, from the weights
// as they are.
#pragma once

#include <array>

#include "kernels/device_table.h"
#include "kernels/resize.h"

namespace campipe {

// The weights of one direction on the GPU.
struct AxisTables {
  AxisTables() = default;
  explicit AxisTables(const AxisWeights& axis) : taps(axis.taps), first(axis.first), weights(axis.weights) {}

  int taps = 0;
  DeviceTable first;
  DeviceTable weights;
};

struct FarTables {
  FarTables() = default;
  explicit FarTables(const std::array<PlaneWeights, 2>& of);

  std::array<std::array<AxisTables, 2>, 2> planes;  // luma's and chroma's, across and down
};

// Enqueues it on `stream`; the caller checks the launch.
void enqueue_resize_far(const FrameView& in, const MutableFrameView& out, const FarTables& tables, GpuStream stream);

}  // namespace campipe
