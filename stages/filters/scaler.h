// Scaling of whole frames, whatever their shapes; what the filters resize and fit are made of.
//
// Each direction by itself: where it shrinks, every output sample is the mean of the area that it covers, the parts
// of samples at its ends counted as parts; where it grows, it is linear between the two nearest samples. These are
// OpenCV's INTER_AREA and INTER_LINEAR. Why area: bilinear and bicubic look at 2 or 4 samples and so alias below half
// the size (a fence flickers, and the encoder pays for it); the mean over the area reads every sample once or twice,
// whatever the scale, and nothing that reads less is free of aliasing.
//
// Chroma planes are scaled about their own corners, as if chroma lay in the middle of its four luma samples. Where it
// lies to the left, it moves by less than half a luma sample of the output.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/frame.h"
#include "kernels/resize.h"
#include "stages/filters/planes.h"

namespace campipe {

// For each output position the first input position it is made of, and `taps` weights.
struct ScaleAxis {
  int taps = 0;
  std::vector<int> first;
  std::vector<std::int16_t> weights;

  [[nodiscard]] std::span<const std::int16_t> weights_of(int i) const {
    return std::span(weights).subspan(static_cast<std::size_t>(i * taps), static_cast<std::size_t>(taps));
  }
};

struct ScaleAxes {
  ScaleAxis across;
  ScaleAxis down;
};

using PlaneAxes = std::array<ScaleAxes, 2>;  // luma's, chroma's

// The weights that make frames of `out`'s size from frames of `in`'s.
PlaneAxes make_axes(const FrameFormat& in, const FrameFormat& out);

// On the CPU. One thread.
class Scaler {
 public:
  // Allocates all that scale() needs. Both formats have the same kind of pixels.
  void configure(const FrameFormat& in, const FrameFormat& out);
  // The rows of plane `plane` of the input that `rows` of the output, which are not empty, are made of: as
  // Filter::needs().
  [[nodiscard]] RowRange needs(int plane, RowRange rows) const;
  // Frames of the two formats that do not overlap. Makes the rows that `out` has, which may be none, and writes nothing
  // beside them.
  void scale(const FrameView& in, const MutableFrameView& out);

 private:
  void scale_plane(const Plane& in, const MutablePlane& out, const ScaleAxes& axes);
  void scale_line(int width, const ScaleAxis& across, const MutablePlane& out, int y);

  PlaneAxes axes_;
  std::vector<const std::uint8_t*> rows_;
  std::vector<std::int16_t> line_;                       // a row of the input's width
  std::array<std::vector<std::int16_t>, 2> components_;  // the same, U and V apart
  std::array<std::vector<std::uint8_t>, 2> scaled_;      // a row of the output's width
};

// The same weights for a GPU (CUDA only): call enqueue_resize() with it.
ResizeKernel make_resize_kernel(const FrameFormat& in, const FrameFormat& out);

}  // namespace campipe
