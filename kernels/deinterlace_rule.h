// How the filter `deinterlace` makes a sample of a line that it does not keep, in integers, so that CPU and GPU agree
// on every sample. What lies outside of the frame is the frame mirrored about its first and last sample, which
// leaves lines in their field.
#pragma once

#include "kernels/host_device.h"

namespace campipe {

inline constexpr int comb_threshold = 3;  // levels
inline constexpr int edge_reach = 3;      // positions to either side that edge_directed() looks at

CAMPIPE_HOST_DEVICE inline int smaller(int a, int b) { return a < b ? a : b; }
CAMPIPE_HOST_DEVICE inline int apart(int a, int b) { return a < b ? b - a : a - b; }

// Whether a sample shows combing: both its neighbours above and below, of the other field, are darker or both are
// brighter, by more than it differs from the nearer one of its own field (`up2`, `down2`). A still line that stands out
// by itself is none: it differs from its own field as well.
CAMPIPE_HOST_DEVICE inline bool is_combed(int up2, int up, int own, int down, int down2) {
  const bool outside = (own > up) == (own > down);
  const int from_others = smaller(apart(own, up), apart(own, down));
  const int from_own = smaller(apart(own, up2), apart(own, down2));
  return outside && from_others > from_own + comb_threshold;
}

// How well an edge fits that goes through the sample above at offset `k` and the one below at -k: three in a row are
// compared, up to 255.
template <typename Samples>
CAMPIPE_HOST_DEVICE int edge_misfit(const Samples& above, const Samples& below, int k) {
  return smaller(apart(above(k - 1), below(-k - 1)) + apart(above(k), below(-k)) + apart(above(k + 1), below(-k + 1)),
                 255);
}

// The mean along the edge that fits best. above(k), below(k): samples of the lines above and below, `k` positions to
// the right.
template <typename Samples>
CAMPIPE_HOST_DEVICE int edge_directed(const Samples& above, const Samples& below) {
  int a = above(0), b = below(0);
  int best = edge_misfit(above, below, 0) - 1;  // of equals, this one
  const auto take_if_better = [&](int k) {
    const int misfit = edge_misfit(above, below, k);
    if (misfit >= best) return false;
    best = misfit;
    a = above(k);
    b = below(-k);
    return true;
  };
  if (take_if_better(-1)) take_if_better(-2);  // the flatter edge only where the steeper one fits already
  if (take_if_better(1)) take_if_better(2);
  return (a + b + 1) / 2;
}

}  // namespace campipe
