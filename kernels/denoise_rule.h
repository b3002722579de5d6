// How much the filter `denoise` lets a sample count for another, in integers, so that CPU and GPU agree on every
// sample.
//
// Non-local means (Buades, Coll, Morel: A non-local algorithm for image denoising, CVPR 2005): a sample becomes the
// mean of the samples of the window around it, each weighted by how alike the patches around the two are:
//
//   out = (Σ w·v + Σ w / 2) / Σ w,  w = part²,  part = 64 · (1 - d / cutoff), at least 0, rounded down
//
// d is the sum of the squared differences of the two patches. What lies outside of the plane is its edge, repeated.
//
// - The weight is Tukey's biweight and not the paper's exp(-d / h²): it needs no table, which neither vectors of the
//   CPU nor the GPU's shared memory read fast, and a patch that differs clearly counts for nothing, which keeps edges
//   (Goossens, Luong, Pižurica, Philips: An improved non-local denoising algorithm, LNLA 2008).
// - cutoff = 5 · strength² · samples of the patch. Noise of the standard deviation `strength` makes d 2/5 of that,
//   where the weight is 0.36; with the paper's h = 10 · strength and a patch of 7 × 7, as in FFmpeg's nlmeans, it is
//   0.38.
// - The sample itself counts as any other whose patch is the same: with the weight 1, as in FFmpeg. The paper's authors
//   also take the largest weight of the others (IPOL 2011), which mixes a sample that has nothing like it in its window
//   with the least unlike ones; this way it stays. Where there are enough alike, 1 is little beside their sum.
#pragma once

#include <cmath>

#include "kernels/host_device.h"

namespace campipe {

struct DenoiseRule {
  int patch;        // the side of a patch, odd, at most most_denoise_patch
  int window;       // the side of a window, odd, at most most_denoise_window
  unsigned cutoff;  // fits 16 bits, so that sums of squares that do not may be 65535
  unsigned scale;   // 64 / cutoff, times 2^16, rounded up; fits 16 bits

  [[nodiscard]] CAMPIPE_HOST_DEVICE unsigned weight(unsigned squares) const {
    const unsigned part = ((squares < cutoff ? cutoff - squares : 0) * scale) >> 16;
    return part * part;
  }
};

// The sums of a window then fit: 15² weights of at most 2^12, times 255, are less than 2^28.
inline constexpr int most_denoise_patch = 7;
inline constexpr int most_denoise_window = 15;
inline constexpr int most_denoise_strength = 16;

// `strength`: from 1, in levels.
inline DenoiseRule denoise_rule(double strength, int patch, int window) {
  const auto cutoff = static_cast<unsigned>(std::lround(5 * strength * strength * patch * patch));
  const unsigned scale = ((64U << 16) + cutoff - 1) / cutoff;
  return {patch, window, cutoff, scale < 65535 ? scale : 65535};
}

}  // namespace campipe
