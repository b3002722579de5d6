// Takes the distortion of a lens out of frames.
#pragma once

#include <cstdint>

#include "core/frame.h"
#include "core/gpu.h"

namespace campipe {

// OpenCV's camera model. A sample of the output at (u, v) is, with a = (u - cx) / fx, b = (v - cy) / fy, r = a² + b²,
// the input's at
//   x = cx + fx · (a · (1 + k1·r + k2·r² + k3·r³) + 2·p1·a·b + p2·(r + 2·a²))
//   y = cy + fy · (b · (1 + k1·r + k2·r² + k3·r³) + 2·p2·a·b + p1·(r + 2·b²))
// All in samples of luma, whose centres are at integers.
struct Lens {
  double k1 = 0;
  double k2 = 0;
  double k3 = 0;
  double p1 = 0;
  double p2 = 0;
  double fx = 1;
  double fy = 1;
  double cx = 0;
  double cy = 0;
};

// `out`, of the same size as `in`, without the distortion of `lens`; linear between the four samples around each place.
// What lies outside of `in` is black (`black`: luma's; chroma's is 128). Chroma lies in the middle of its four luma
// samples. Both are nv12 in memory that the current GPU can use, and do not overlap. Of `out` the rows that it has are
// made. Enqueues one kernel on `stream` and returns at once. Throws GpuError when the launch fails.
void enqueue_undistort(const FrameView& in, const MutableFrameView& out, const Lens& lens, std::uint8_t black,
                       GpuStream stream);

}  // namespace campipe
