// What the filter `motion` takes for motion, in integers, so that CPU and GPU agree on every cell.
//
// Luma is cut into cells of 8 × 8 samples. Of each cell the mean is compared with the cell's background, a running mean
// of the pictures before. The median of all differences is what the light changed by (a cloud, the camera's exposure):
// it is no motion. As light is a factor rather than an offset, there is a median for each of eight ranges of
// backgrounds from dark to bright; a range with few cells has that of the nearest with more. A cell has changed where
// its difference is further from the median than a threshold. Where most cells have, that is no motion either: the
// camera moved, the scene is another. Then the background begins anew.
#pragma once

#include <cstdint>

#include "kernels/host_device.h"

namespace campipe {

inline constexpr int motion_cell = 8;                // samples, across and down
inline constexpr int motion_level = 64;              // means and differences are in 64ths of a level of luma
inline constexpr int motion_ranges = 8;              // of backgrounds
inline constexpr int motion_bins = 256;              // of differences: two levels each, -256 to 254
inline constexpr int motion_settling_pictures = 32;  // that a background needs before it is compared with

// The same for all pictures of a format.
struct MotionRule {
  int columns = 0;  // of cells; those at the right and lower edge may be cut off
  int rows = 0;
  int left = 0;  // watched cells: [left, right) × [top, bottom)
  int top = 0;
  int right = 0;
  int bottom = 0;
  int threshold = 0;  // in 64ths of a level
  int least = 1;      // watched cells that must have changed: fewer are none

  [[nodiscard]] CAMPIPE_HOST_DEVICE int cells() const { return columns * rows; }
  [[nodiscard]] CAMPIPE_HOST_DEVICE int watched() const { return (right - left) * (bottom - top); }
  [[nodiscard]] CAMPIPE_HOST_DEVICE bool watches(int column, int row) const {
    return column >= left && column < right && row >= top && row < bottom;
  }
};

// Of a cell.
CAMPIPE_HOST_DEVICE inline std::uint16_t motion_mean(unsigned sum, unsigned samples) {
  return static_cast<std::uint16_t>(sum * motion_level / samples);
}

// A background is a mean with so many bits behind it.
inline constexpr int motion_background_bits = 10;

CAMPIPE_HOST_DEVICE inline int motion_difference(std::uint16_t mean, std::int32_t background) {
  return mean - ((background + (1 << (motion_background_bits - 1))) >> motion_background_bits);
}

// A cell's range, by its background.
CAMPIPE_HOST_DEVICE inline int motion_range(std::int32_t background) {
  return background / ((256 / motion_ranges * motion_level) << motion_background_bits);
}

inline constexpr int motion_bin_width = 2 * motion_level;

CAMPIPE_HOST_DEVICE inline int motion_bin(int difference) {
  const int bin = (difference + motion_bins / 2 * motion_bin_width + motion_bin_width / 2) / motion_bin_width;
  return bin < motion_bins ? bin : motion_bins - 1;
}

// `bins`: the median one of each range; `in_range`: how many cells of `cells` it has.
CAMPIPE_HOST_DEVICE inline int motion_shift(int range, const int* bins, const int* in_range, int cells) {
  const auto counts = [&](int r) { return r >= 0 && r < motion_ranges && in_range[r] * 2 * motion_ranges >= cells; };
  int off = 0;  // at least one of them counts
  while (!counts(range - off) && !counts(range + off)) ++off;
  const int bin = bins[counts(range - off) ? range - off : range + off];
  return (bin - motion_bins / 2) * motion_bin_width;
}

CAMPIPE_HOST_DEVICE inline bool motion_changed(int difference, int shift, int threshold) {
  const int by = difference - shift;
  return by > threshold || -by > threshold;
}

// Of `changed` cells of all.
CAMPIPE_HOST_DEVICE inline bool motion_is_another_scene(int changed, int cells) {
  return std::int64_t{5} * changed > std::int64_t{3} * cells;
}

// The mean of `pictures` and one more.
CAMPIPE_HOST_DEVICE inline std::int32_t motion_settled(std::int32_t background, std::uint16_t mean, int pictures) {
  return background + ((mean << motion_background_bits) - background) / (pictures + 1);
}

// A 32nd of the way at each picture; a 512th where something is that was not there before. What the light
// changed by is followed quickly everywhere, so that nothing is left behind where the something was.
CAMPIPE_HOST_DEVICE inline std::int32_t motion_adapted(std::int32_t background, std::uint16_t mean, int shift,
                                                       bool changed) {
  constexpr std::int32_t most = 255 * motion_level << motion_background_bits;
  const std::int32_t way = (mean << motion_background_bits) - background;
  const std::int32_t common = shift * (1 << motion_background_bits);
  const std::int32_t adapted = background + (changed ? (common >> 5) + ((way - common) >> 9) : way >> 5);
  return adapted < 0 ? 0 : adapted > most ? most : adapted;
}

}  // namespace campipe
