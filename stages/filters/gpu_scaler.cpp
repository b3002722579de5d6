#include "stages/filters/scaler.h"

namespace campipe {

ResizeKernel make_resize_kernel(const FrameFormat& in, const FrameFormat& out) {
  const PlaneAxes axes = make_axes(in, out);
  const auto weights_of = [](const ScaleAxis& axis) { return AxisWeights{axis.taps, axis.first, axis.weights}; };
  const auto plane = [&](const ScaleAxes& of, int width, int height) {
    return PlaneWeights{weights_of(of.across), weights_of(of.down), width, height};
  };
  return ResizeKernel(
      {plane(axes[0], out.width, out.height), plane(axes[1], (out.width + 1) / 2, (out.height + 1) / 2)});
}

}  // namespace campipe
