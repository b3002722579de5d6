// What the CPU paths of the filters share: a view of one plane, and the row kernels they are made of.
//
// Why not cv::GaussianBlur, cv::sepFilter2D and cv::resize: each of them allocates on every call (2 to 20 times a
// plane with OpenCV 4.6), which the contract of a filter forbids, and none is faster than these rows: both passes in
// one sweep, 8 bits in and out, 16 between. What is used of OpenCV is its universal intrinsics: SSE2, NEON, VSX, RVV
// or plain C++, whichever the compiler's target has. As no other function of OpenCV is called, none of its threads
// is ever started and its OpenCL is never loaded: there is nothing to switch off.
//
// All filters make each row of the output the same way: the rows of the input around it are combined into one row of
// 16-bit samples (they are in the cache, as the next row needs them again), which is then combined sideways. What lies
// outside of the frame is the frame mirrored about its first and last sample (reflect-101, OpenCV's default).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <opencv2/core.hpp>  // its plain C++ intrinsics need it without including it
#include <opencv2/core/hal/intrin.hpp>
#include <span>

#include "core/frame.h"

namespace campipe {

// One plane. A position across is a group of `channels` bytes: 2 where U and V are interleaved, else 1.
template <typename Byte>
struct BasicPlane {
  Byte* data = nullptr;
  std::ptrdiff_t stride = 0;
  int width = 0;
  int height = 0;
  int channels = 1;
  RowRange rows;  // that are there

  [[nodiscard]] Byte* row(int y) const { return data + y * stride; }
  [[nodiscard]] int row_bytes() const { return width * channels; }
};
using Plane = BasicPlane<const std::uint8_t>;
using MutablePlane = BasicPlane<std::uint8_t>;

template <typename Byte>
BasicPlane<Byte> plane_of(const BasicFrameView<Byte>& view, int plane) {
  const auto index = static_cast<std::size_t>(plane);
  const int channels = view.format.pixels == PixelFormat::nv12 && plane == 1 ? 2 : 1;
  const PlaneSize size = plane_size(view.format, plane);
  return {view.data[index], view.stride[index], size.width / channels, size.height, channels, plane_rows(view, plane)};
}

// What a filter needs that makes each row of those around it, `reach` to either side.
inline RowRange rows_around(RowRange rows, int reach) { return {rows.begin - reach, rows.end + reach}; }

// The rows of `out`.
inline void copy_plane(const Plane& in, const MutablePlane& out) {
  for (int y = out.rows.begin; y < out.rows.end; ++y)
    std::memcpy(out.row(y), in.row(y), static_cast<std::size_t>(in.row_bytes()));
}

// Where position `i` of a row of `size` is found when the frame is mirrored about its first and last sample.
inline int reflect_101(int i, int size) {
  if (size == 1) return 0;
  while (i < 0 || i >= size) i = i < 0 ? -i : 2 * (size - 1) - i;
  return i;
}

// Weights of the row kernels are integers that add up to this; samples between the two passes are 16 bits
// with `row_fraction` bits of them behind the point. So sums stay below 2^31 and a flat frame stays exactly flat.
inline constexpr int weight_bits = 14;
inline constexpr int weight_one = 1 << weight_bits;
inline constexpr int row_fraction = 6;
// Kernels load and store whole vectors: a 16-bit row, or an 8-bit one of ours, has room for so many samples more.
inline constexpr int row_slack = 16;

// out[x] = Σ rows[i][x] · weights[i], for x in [0, width). The number of rows is even (let the last weight be 0).
void combine_rows(std::span<const std::uint8_t* const> rows, std::span<const std::int16_t> weights, int width,
                  std::int16_t* out);

// Two weights next to each other, four times.
inline cv::v_int16x8 weight_pairs(const std::int16_t* weights) {
  std::int32_t both;
  std::memcpy(&both, weights, sizeof both);
  return cv::v_reinterpret_as_s16(cv::v_setall_s32(both));
}

// Mirrors a 16-bit row into `radius` positions on either side of it.
template <typename Sample>
void mirror_ends(Sample* row, int width, int channels, int radius) {
  for (int i = 1; i <= radius; ++i) {
    const int left = reflect_101(-i, width);
    const int right = reflect_101(width - 1 + i, width);
    for (int c = 0; c < channels; ++c) {
      row[-i * channels + c] = row[left * channels + c];
      row[(width - 1 + i) * channels + c] = row[right * channels + c];
    }
  }
}

}  // namespace campipe
