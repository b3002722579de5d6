// What the filter `motion` takes for motion, in integers, so that CPU and GPU agree on every cell.
//
// Luma is cut into square cells. Each cell remembers up to three means (modes) that it has had. What was there for
// `motion_known` belongs to the background, and remains part of it for four times as long as it was there. A cell has
// changed where its mean is near none of these. So what stands still is background within a second, and when it leaves,
// the background behind it is still known.
//
// The median difference to the mode seen last is what the light changed by (a cloud, the camera's exposure): it is no
// motion. As light is a factor rather than an offset, there is a median for each of eight ranges of brightness; a range
// with few cells has that of the nearest with more. All modes follow it, so those that are out of sight do too.
//
// A changed cell moves where one beside it has changed too: noise changes single ones. The frame has motion where
// enough of these have a sharp edge: soft shadows and reflections have none. Where most cells have changed, the camera
// moved or the scene is another, which is no motion: then what is seen next becomes background at once.
#pragma once

#include <cstdint>

#include "kernels/host_device.h"

namespace campipe {

inline constexpr int motion_level = 64;  // means and differences are in 64ths of a level of luma
inline constexpr int motion_ranges = 8;  // of brightness
inline constexpr int motion_bins = 256;  // of differences: two levels each, -256 to 254
inline constexpr int motion_modes = 3;   // of a cell
inline constexpr int motion_largest_cell = 16;

inline constexpr int motion_off_limit = 32000;  // of how far a cell is off, so that 16 bits hold it

// Times are in milliseconds.
inline constexpr int motion_settling = 1280;      // in which a background is learned, and no motion reported
inline constexpr int motion_longest_step = 1000;  // a longer time between two frames counts as this

// The side of a cell in samples, so that a person at 3 % of the frame's height covers several.
CAMPIPE_HOST_DEVICE constexpr int motion_cell_side(int height) { return height <= 480 ? 4 : height <= 1080 ? 8 : 16; }

// The same for all frames of a format.
struct MotionRule {
  int side = 8;     // of a cell, in samples
  int columns = 0;  // of cells; those at the right and lower edge may be cut off
  int rows = 0;
  int left = 0;  // watched cells: [left, right) × [top, bottom)
  int top = 0;
  int right = 0;
  int bottom = 0;
  int threshold = 0;  // in 64ths of a level
  int least = 1;      // watched cells with a sharp edge that must have changed: fewer are no motion

  [[nodiscard]] CAMPIPE_HOST_DEVICE int cells() const { return columns * rows; }
  [[nodiscard]] CAMPIPE_HOST_DEVICE int watched() const { return (right - left) * (bottom - top); }
  [[nodiscard]] CAMPIPE_HOST_DEVICE bool watches(int column, int row) const {
    return column >= left && column < right && row >= top && row < bottom;
  }
  // How far each cell is off lies in a table with a border of one cell: the size of the table, and a cell's place in
  // it.
  [[nodiscard]] CAMPIPE_HOST_DEVICE int framed_cells() const { return (columns + 2) * (rows + 2); }
  [[nodiscard]] CAMPIPE_HOST_DEVICE int framed(int column, int row) const {
    return (row + 1) * (columns + 2) + column + 1;
  }
};

// Watched cells of a frame.
struct MotionCount {
  int moving = 0;
  int sharp = 0;  // of these, with a sharp edge
};

// Of a cell.
CAMPIPE_HOST_DEVICE inline std::uint16_t motion_mean(unsigned sum, unsigned samples) {
  return static_cast<std::uint16_t>(sum * motion_level / samples);
}

struct MotionMode {
  std::int32_t mean = 0;    // with motion_mode_bits more bits than a cell's mean
  std::int32_t weight = 0;  // how long it was there, in 16ths of a millisecond; 0: no mode
};

// The first is the part of the background that was seen last; the light is measured by it. It is never forgotten.
struct MotionCell {
  MotionMode modes[motion_modes];
};

inline constexpr int motion_mode_bits = 6;
inline constexpr int motion_weight_bits = 4;
inline constexpr std::int32_t motion_known = 700 << motion_weight_bits;      // from here on it is background
inline constexpr std::int32_t motion_settled = 10000 << motion_weight_bits;  // what a background begins with
inline constexpr std::int32_t motion_most = 150000 << motion_weight_bits;

CAMPIPE_HOST_DEVICE inline int motion_difference(std::uint16_t mean, const MotionMode& mode) {
  return mean - ((mode.mean + (1 << (motion_mode_bits - 1))) >> motion_mode_bits);
}

// By the mode's mean.
CAMPIPE_HOST_DEVICE inline int motion_range(std::int32_t mean) {
  return mean / ((256 / motion_ranges * motion_level) << motion_mode_bits);
}

inline constexpr int motion_bin_width = 2 * motion_level;

CAMPIPE_HOST_DEVICE inline int motion_bin(int difference) {
  const int bin = (difference + motion_bins / 2 * motion_bin_width + motion_bin_width / 2) / motion_bin_width;
  return bin < motion_bins ? bin : motion_bins - 1;
}

// The median difference of `cells` cells. `bin`: the first up to which at least half of them lie, `in_bin` of them in
// it and `below` in those before.
CAMPIPE_HOST_DEVICE inline int motion_median(int bin, int below, int in_bin, int cells) {
  const int first = (bin - motion_bins / 2) * motion_bin_width - motion_bin_width / 2;
  if (in_bin == 0) return 0;
  const std::int64_t place = std::int64_t{cells} - 2 * std::int64_t{below};  // twice of in_bin
  return first + static_cast<int>(place * motion_bin_width / (2 * std::int64_t{in_bin}));
}

// `medians`: of each range; `in_range`: how many cells of `cells` it has.
CAMPIPE_HOST_DEVICE inline int motion_shift(int range, const int* medians, const int* in_range, int cells) {
  const auto counts = [&](int r) { return r >= 0 && r < motion_ranges && in_range[r] * 2 * motion_ranges >= cells; };
  int off = 0;  // at least one of them counts
  while (!counts(range - off) && !counts(range + off)) ++off;
  return medians[counts(range - off) ? range - off : range + off];
}

// How far a cell may be off: the rule's threshold, and half of what the background beside it differs from it by, as a
// camera that trembles moves edges to and fro. `cell`: in the table of all.
CAMPIPE_HOST_DEVICE inline int motion_tolerance(const MotionRule& rule, const MotionCell* cell, int column, int row) {
  std::int32_t most = 0;
  const auto compare = [&](bool there, int at) {
    const std::int32_t by = there ? cell[at].modes[0].mean - cell->modes[0].mean : 0;
    most = by > most ? by : -by > most ? -by : most;
  };
  compare(column > 0, -1);
  compare(column + 1 < rule.columns, 1);
  compare(row > 0, -rule.columns);
  compare(row + 1 < rule.rows, rule.columns);
  return rule.threshold + (most >> (motion_mode_bits + 1));
}

struct MotionMatch {
  int mode;  // that the mean is of; -1: none
  int off;   // from the nearest mode of the background; by more than the rule's threshold: the cell has changed
};

CAMPIPE_HOST_DEVICE inline bool motion_changed(int off, int threshold) { return off > threshold || -off > threshold; }

CAMPIPE_HOST_DEVICE inline int motion_clamped(int value, int most) {
  return value < -most ? -most : value > most ? most : value;
}

CAMPIPE_HOST_DEVICE inline int motion_off(std::uint16_t mean, const MotionMode& mode, const int* shifts) {
  return motion_clamped(motion_difference(mean, mode) - shifts[motion_range(mode.mean)], motion_off_limit);
}

// Where `mean` is off by `first` from the first mode: the nearest other of the background; else the nearest of those
// that are not background yet.
CAMPIPE_HOST_DEVICE inline MotionMatch motion_match_others(const MotionCell& cell, std::uint16_t mean, int first,
                                                           const int* shifts, int tolerance) {
  MotionMatch match{-1, first};
  int young = -1, least = tolerance;
  for (int i = 1; i < motion_modes; ++i) {
    if (cell.modes[i].weight == 0) continue;
    const int off = motion_off(mean, cell.modes[i], shifts);
    const int distance = off < 0 ? -off : off;
    if (cell.modes[i].weight >= motion_known) {
      if (distance >= (match.off < 0 ? -match.off : match.off)) continue;
      match.off = off;
      if (distance <= tolerance) match.mode = i;
    } else if (distance <= least) {
      least = distance;
      young = i;
    }
  }
  if (match.mode < 0) match.mode = young;
  return match;
}

// `cell`: in the table of all; `shifts`: of each range.
CAMPIPE_HOST_DEVICE inline MotionMatch motion_match(const MotionRule& rule, const MotionCell* cell, std::uint16_t mean,
                                                    int column, int row, const int* shifts) {
  if (cell->modes[0].weight == 0) return {-1, motion_off_limit};  // nothing is known yet
  MotionMatch match{0, motion_off(mean, cell->modes[0], shifts)};
  if (!motion_changed(match.off, rule.threshold)) return match;
  const int tolerance = motion_tolerance(rule, cell, column, row);
  if (motion_changed(match.off, tolerance)) match = motion_match_others(*cell, mean, match.off, shifts, tolerance);
  if (!motion_changed(match.off, tolerance)) match.off = motion_clamped(match.off, rule.threshold);
  return match;
}

// In the table of how far cells are off. Beyond the frame it has this in each byte.
inline constexpr int motion_outside_byte = 0x80;
inline constexpr std::int16_t motion_outside = -0x7f80;

// How a changed cell looks among those around it.
struct MotionEdge {
  bool accompanied = false;  // another has changed too
  bool sharp = false;        // one is much less off, or more
};

// `off`: in the table.
CAMPIPE_HOST_DEVICE inline MotionEdge motion_edge(const std::int16_t* off, int columns, int threshold) {
  MotionEdge edge;
  for (int down = -1; down <= 1; ++down)
    for (int across = -1; across <= 1; ++across) {
      const int other = off[down * (columns + 2) + across];
      if (other == motion_outside || (down == 0 && across == 0)) continue;
      edge.accompanied = edge.accompanied || motion_changed(other, threshold);
      edge.sharp = edge.sharp || motion_changed(other - *off, threshold * 3 / 4);
    }
  return edge;
}

// Of `changed` cells of all.
CAMPIPE_HOST_DEVICE inline bool motion_is_another_scene(int changed, int cells) {
  return std::int64_t{5} * changed > std::int64_t{3} * cells;
}

// A 256th of `way` each millisecond.
CAMPIPE_HOST_DEVICE inline std::int32_t motion_followed(std::int32_t mean, std::int32_t way, int step) {
  constexpr std::int32_t most = (255 * motion_level) << motion_mode_bits;
  const std::int32_t followed = mean + ((way * (step < 256 ? step : 256)) >> 8);
  return followed < 0 ? 0 : followed > most ? most : followed;
}

// Each mode but the one that is seen: it follows the light, and is forgotten: background four times as slowly as it was
// learned, the rest twice. The weight does not become less than `least`.
CAMPIPE_HOST_DEVICE inline void motion_fade(MotionMode& mode, const int* shifts, int step, int least) {
  const std::int32_t way = shifts[motion_range(mode.mean)] * (1 << motion_mode_bits);
  mode.mean = motion_followed(mode.mean, way, step);
  const std::int32_t gone = step << (motion_weight_bits - (mode.weight >= motion_known ? 2 : 1));
  mode.weight = mode.weight > gone ? mode.weight - gone : least;
}

// A mode for what no mode matches, in place of the one that weighs least, but not of the first.
CAMPIPE_HOST_DEVICE inline int motion_new_mode(MotionCell& cell, std::uint16_t mean, const int* shifts) {
  int lightest = 1;
  for (int i = 2; i < motion_modes; ++i)
    if (cell.modes[i].weight < cell.modes[lightest].weight) lightest = i;
  const std::int32_t now = mean << motion_mode_bits;
  // As the light was before, as all modes are.
  const std::int32_t before = now - shifts[motion_range(now)] * (1 << motion_mode_bits);
  cell.modes[lightest] = {motion_followed(before, 0, 0), 0};
  return lightest;
}

// `step`: since the frame before, in milliseconds, 1 to motion_longest_step. `match`: the mode of motion_match().
CAMPIPE_HOST_DEVICE inline void motion_adapt(MotionCell& cell, std::uint16_t mean, const int* shifts, int match,
                                             bool settling, int step) {
  for (int i = 0; i < motion_modes; ++i)
    if (i != match && cell.modes[i].weight > 0) motion_fade(cell.modes[i], shifts, step, i == 0 ? 1 : 0);
  const int seen = match >= 0 ? match : motion_new_mode(cell, mean, shifts);
  MotionMode& mode = cell.modes[seen];
  mode.mean = motion_followed(mode.mean, (mean << motion_mode_bits) - mode.mean, step);
  mode.weight += step << motion_weight_bits;
  if (settling && mode.weight < motion_settled) mode.weight = motion_settled;
  if (mode.weight > motion_most) mode.weight = motion_most;
  if (seen == 0 || mode.weight < motion_known) return;
  const MotionMode first = cell.modes[0];
  cell.modes[0] = mode;
  mode = first;
}

}  // namespace campipe
