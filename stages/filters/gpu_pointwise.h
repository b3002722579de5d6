// The GPU path of point-wise filters: what they have in common is all of it. Without CUDA none is made.
#pragma once

#include "kernels/pointwise.h"
#include "stages/filters/filter.h"

namespace campipe {

inline Pointwise no_change() {
  Pointwise all;
  for (std::size_t i = 0; i < all.luma.size(); ++i) all.luma[i] = all.chroma[i] = static_cast<std::uint8_t>(i);
  return all;
}

// Derived classes fill in pointwise_ in configure().
class GpuPointwise : public GpuFilter {
 public:
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_pointwise(in, out, pointwise_.luma, pointwise_.chroma, pointwise_.x, pointwise_.y, stream);
  }
  [[nodiscard]] const Pointwise* pointwise() const override { return &pointwise_; }

 protected:
  Pointwise pointwise_ = no_change();
};

}  // namespace campipe
