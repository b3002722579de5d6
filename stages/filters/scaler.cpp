#include "stages/filters/scaler.h"

#include <algorithm>
#include <cmath>

namespace campipe {
namespace {

constexpr int few_taps = 4;

// The sum of the weights that output position `i` gives to all input positions left of `x`: 0 to 1.
double area_below(double x, int i, double scale) { return std::clamp((x - i * scale) / scale, 0.0, 1.0); }

double linear_below(double x, int i, double scale) {
  const double centre = (i + 0.5) * scale - 0.5;  // between the samples at floor(centre) and the next
  const double left = std::floor(centre);
  if (x <= left) return 0;
  return x <= left + 1 ? left + 1 - centre : 1;
}

int taps_needed(double scale) { return scale > 1 ? static_cast<int>(std::ceil(scale)) + 1 : 2; }

int round_up(int value, int group) { return (value + group - 1) / group * group; }

// With `out_slack` output positions more than asked for, of no weight.
ScaleAxis make_axis(int in, int out, int taps, int out_slack) {
  const double scale = static_cast<double>(in) / out;
  ScaleAxis axis;
  axis.taps = taps;
  axis.first.assign(static_cast<std::size_t>(out + out_slack), 0);
  axis.weights.assign(axis.first.size() * static_cast<std::size_t>(axis.taps), 0);
  for (int i = 0; i < out; ++i) {
    const double start = scale > 1 ? i * scale : (i + 0.5) * scale - 0.5;
    const int first = std::clamp(static_cast<int>(std::floor(start)), 0, in - 1);
    axis.first[static_cast<std::size_t>(i)] = first;
    // Rounding the sums from the left and not the weights makes the weights add up. The first and last sample of
    // the input stand for everything beyond them.
    long below = 0;
    for (int tap = 0; tap < axis.taps; ++tap) {
      const int end = first + tap + 1;
      const double part = end >= in ? 1 : scale > 1 ? area_below(end, i, scale) : linear_below(end, i, scale);
      const long sum = std::lround(weight_one * part);
      axis.weights[static_cast<std::size_t>(i * axis.taps + tap)] = static_cast<std::int16_t>(sum - below);
      below = sum;
    }
  }
  return axis;
}

ScaleAxis make_axis_down(int in, int out) {
  return make_axis(in, out, round_up(taps_needed(static_cast<double>(in) / out), 2), 0);  // combine_rows takes pairs
}

ScaleAxis make_axis_across(int in, int out) {
  const int taps = taps_needed(static_cast<double>(in) / out);
  return make_axis(in, out, taps <= few_taps ? few_taps : round_up(taps, 8), 7);  // scale_row writes eights
}

// Four sums of four parts each, as one vector.
cv::v_int32x4 sums_across(std::array<cv::v_int32x4, 4> parts) {
  cv::v_int32x4 a, b, c, d;  // not const above: OpenCV's plain C++ version takes its first argument by reference
  cv::v_transpose4x4(parts[0], parts[1], parts[2], parts[3], a, b, c, d);
  return (a + b) + (c + d);
}

// Where few_taps are enough (down to a third of the size): two output samples to a vector.
cv::v_int32x4 scale_4_by_few_taps(const std::int16_t* row, const ScaleAxis& axis, int x) {
  const int* first = axis.first.data() + x;
  const std::int16_t* weights = axis.weights.data() + x * few_taps;
  const cv::v_int32x4 ab = cv::v_dotprod(cv::v_load_halves(row + first[0], row + first[1]), cv::v_load(weights));
  const cv::v_int32x4 cd = cv::v_dotprod(cv::v_load_halves(row + first[2], row + first[3]), cv::v_load(weights + 8));
  cv::v_int32x4 ac, bd, left, right;
  cv::v_zip(ab, cd, ac, bd);
  cv::v_zip(ac, bd, left, right);
  return left + right;
}

cv::v_int32x4 scale_4(const std::int16_t* row, const ScaleAxis& axis, int x) {
  std::array<cv::v_int32x4, 4> parts;
  for (int i = 0; i < 4; ++i) {
    const std::int16_t* samples = row + axis.first[static_cast<std::size_t>(x + i)];
    const std::int16_t* weights = axis.weights.data() + (x + i) * axis.taps;
    cv::v_int32x4 sum = cv::v_dotprod(cv::v_load(samples), cv::v_load(weights));
    for (int tap = 8; tap < axis.taps; tap += 8)
      sum = cv::v_dotprod(cv::v_load(samples + tap), cv::v_load(weights + tap), sum);
    parts[static_cast<std::size_t>(i)] = sum;
  }
  return sums_across(parts);
}

template <cv::v_int32x4 (*scale)(const std::int16_t*, const ScaleAxis&, int)>
void scale_row_by(const std::int16_t* row, const ScaleAxis& axis, int width, std::uint8_t* out) {
  for (int x = 0; x < width; x += 8) {
    const cv::v_int32x4 left = scale(row, axis, x);
    const cv::v_int32x4 right = scale(row, axis, x + 4);
    cv::v_pack_u_store(out + x, cv::v_rshr_pack<weight_bits + row_fraction>(left, right));
  }
}

// Writes up to 7 samples more than `width`: `out` is a row of ours.
void scale_row(const std::int16_t* row, const ScaleAxis& axis, int width, std::uint8_t* out) {
  if (axis.taps == few_taps)
    scale_row_by<scale_4_by_few_taps>(row, axis, width, out);
  else
    scale_row_by<scale_4>(row, axis, width, out);
}

}  // namespace

PlaneAxes make_axes(const FrameFormat& in, const FrameFormat& out) {
  const auto half = [](int size) { return (size + 1) / 2; };
  return {
      ScaleAxes{make_axis_across(in.width, out.width), make_axis_down(in.height, out.height)},
      ScaleAxes{make_axis_across(half(in.width), half(out.width)), make_axis_down(half(in.height), half(out.height))}};
}

void Scaler::configure(const FrameFormat& in, const FrameFormat& out) {
  axes_ = make_axes(in, out);
  const int most_taps = std::max(axes_[0].across.taps, axes_[1].across.taps);
  line_.assign(static_cast<std::size_t>(in.width + 1 + most_taps + row_slack), 0);
  for (auto& row : components_) row.assign(static_cast<std::size_t>((in.width + 1) / 2 + most_taps + row_slack), 0);
  for (auto& row : scaled_) row.assign(static_cast<std::size_t>(out.width + row_slack), 0);
  rows_.resize(static_cast<std::size_t>(std::max(axes_[0].down.taps, axes_[1].down.taps)));
}

RowRange Scaler::needs(int plane, RowRange rows) const {
  const ScaleAxis& down = axes_[plane == 0 ? 0 : 1].down;  // whose first rows never go up again
  return {down.first[static_cast<std::size_t>(rows.begin)],
          down.first[static_cast<std::size_t>(rows.end - 1)] + down.taps};
}

void Scaler::scale(const FrameView& in, const MutableFrameView& out) {
  for (int i = 0; i < plane_count(in.format.pixels); ++i)
    scale_plane(plane_of(in, i), plane_of(out, i), axes_[i == 0 ? 0 : 1]);
}

void Scaler::scale_plane(const Plane& in, const MutablePlane& out, const ScaleAxes& axes) {
  for (int y = out.rows.begin; y < out.rows.end; ++y) {
    const std::span rows(rows_.data(), static_cast<std::size_t>(axes.down.taps));
    const int first = axes.down.first[static_cast<std::size_t>(y)];
    for (int i = 0; i < axes.down.taps; ++i)
      rows[static_cast<std::size_t>(i)] = in.row(std::min(first + i, in.height - 1));
    combine_rows(rows, axes.down.weights_of(y), in.row_bytes(), line_.data());
    scale_line(in.width, axes.across, out, y);
  }
}

void Scaler::scale_line(int width, const ScaleAxis& across, const MutablePlane& out, int y) {
  if (out.channels == 1) {
    scale_row(line_.data(), across, out.width, scaled_[0].data());
    std::copy_n(scaled_[0].begin(), out.width, out.row(y));
    return;
  }
  for (int x = 0; x < width; x += 8) {
    cv::v_int16x8 u, v;
    cv::v_load_deinterleave(line_.data() + 2 * x, u, v);
    cv::v_store(components_[0].data() + x, u);
    cv::v_store(components_[1].data() + x, v);
  }
  for (std::size_t c = 0; c < 2; ++c) scale_row(components_[c].data(), across, out.width, scaled_[c].data());
  for (int x = 0; x < out.width; ++x)
    for (int c = 0; c < 2; ++c)
      out.row(y)[2 * x + c] = scaled_[static_cast<std::size_t>(c)][static_cast<std::size_t>(x)];
}

}  // namespace campipe
