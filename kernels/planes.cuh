// What kernels share that look at a sample's neighbours: planes, mirrored at their borders, in units of 8 bytes.
#pragma once

#include <cstdint>

#include "core/frame.h"
#include "kernels/launch.h"

namespace campipe {

inline constexpr int unit = 8;  // bytes

template <typename Byte>
struct PlaneSpan {
  Byte* data;
  int stride;
  int width;  // in positions: pairs of bytes where chroma is interleaved
  int height;
  int row_bytes;
  bool units;  // a unit is read or written at once; of the input's last one in a row, up to 7 bytes are not the row's
  RowRange rows;  // that are there; of the output, that are made
};
using InPlane = PlaneSpan<const std::uint8_t>;
using OutPlane = PlaneSpan<std::uint8_t>;

// `reach`: as many positions beyond the borders will be asked for. Where they are not found by mirroring once, or rows
// are not aligned, there are no units.
template <typename Byte>
PlaneSpan<Byte> plane_span(const BasicFrameView<Byte>& view, int plane, int reach = 0) {
  const PlaneSize size = plane_size(view.format, plane);
  Byte* const data = view.data[static_cast<std::size_t>(plane)];
  const int stride = view.stride[static_cast<std::size_t>(plane)];
  const int width = plane == 0 ? size.width : size.width / 2;
  const bool units = is_aligned(data, stride, unit) && width > reach && size.height > reach;
  return {data, stride, width, size.height, size.width, units, plane_rows(view, plane)};
}

inline int ceil_divide(int a, int b) { return (a + b - 1) / b; }

__device__ inline const std::uint8_t* row_at(const InPlane& in, int y) {
  return in.data + static_cast<std::ptrdiff_t>(y) * in.stride;
}

// `y`, if that row is there. Where kernels read more than outputs are made of, any other row will do.
__device__ inline int row_there(const InPlane& in, int y) { return min(max(y, in.rows.begin), in.rows.end - 1); }

__device__ inline bool is_made(const OutPlane& out, int y) {
  return static_cast<unsigned>(y - out.rows.begin) < static_cast<unsigned>(out.rows.end - out.rows.begin);
}

__device__ inline uint2 load_unit(const std::uint8_t* from) { return __ldg(reinterpret_cast<const uint2*>(from)); }

// 16 bytes from any address.
__device__ inline uint4 load_anywhere(const std::uint8_t* from) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto* words = reinterpret_cast<const unsigned*>(address & ~std::uintptr_t{3});
  const unsigned shift = static_cast<unsigned>(address & 3) * 8;
  const unsigned a = words[0], b = words[1], c = words[2], d = words[3];
  const unsigned e = shift != 0 ? words[4] : 0;
  return {__funnelshift_r(a, b, shift), __funnelshift_r(b, c, shift), __funnelshift_r(c, d, shift),
          __funnelshift_r(d, e, shift)};
}

__device__ inline int mirrored(int i, int size) {
  if (size == 1) return 0;
  while (i < 0 || i >= size) i = i < 0 ? -i : 2 * (size - 1) - i;
  return i;
}

// The same of rows, where that is once at most; else any row that is there.
__device__ inline int row_mirrored_once(const InPlane& in, int y) {
  y = abs(y);
  return row_there(in, min(y, 2 * (in.height - 1) - y));
}

// The unit at `x` (in bytes) of a row of any plane, wherever that is.
template <int components>
__device__ __noinline__ uint2 gather_unit(const std::uint8_t* row, int width, int x) {
  std::uint64_t bytes = 0;
#pragma unroll
  for (int i = 0; i < unit; ++i) {
    const int position = mirrored((x + i) >> (components - 1), width);
    bytes |= std::uint64_t{row[position * components + (i & (components - 1))]} << 8 * i;
  }
  return {static_cast<unsigned>(bytes), static_cast<unsigned>(bytes >> 32)};
}

// The unit at `x` of a plane with units, not all of which is in the row: `own` is what was read there, if anything.
// What is mirrored are 8 bytes in the opposite order, out of two units that some other lane has just read.
template <int components>
__device__ uint2 mirror_unit(const InPlane& in, const std::uint8_t* row, int x, uint2 own) {
  const int from = (x < 0 ? -x : 2 * (in.row_bytes - components) - x) - (unit - components);
  const int last = (in.row_bytes - 1) / unit * unit;
  const int first = from >= 0 ? from / unit * unit : -unit;
  const uint2 a = load_unit(row + max(min(first, last), 0));
  const uint2 b = load_unit(row + max(min(first + unit, last), 0));
  const unsigned shift = static_cast<unsigned>(from & 7) * 8;
  const bool far = shift >= 32;
  const unsigned w0 = far ? a.y : a.x, w1 = far ? b.x : a.y, w2 = far ? b.y : b.x;
  constexpr unsigned opposite = components == 1 ? 0x0123 : 0x1032;
  const uint2 bytes{__byte_perm(__funnelshift_r(w1, w2, shift), 0, opposite),
                    __byte_perm(__funnelshift_r(w0, w1, shift), 0, opposite)};
  const int kept = x < 0 ? 0 : max(in.row_bytes - x, 0);  // less than 8
  const std::uint64_t of_own = (std::uint64_t{1} << 8 * kept) - 1;
  const auto low = static_cast<unsigned>(of_own), high = static_cast<unsigned>(of_own >> 32);
  return {(own.x & low) | (bytes.x & ~low), (own.y & high) | (bytes.y & ~high)};
}

// To `x`, in bytes, of row `y`, which is not above those that are made; what lies beside or below them is left out.
__device__ inline void store_unit(const OutPlane& out, int x, int y, uint2 bytes) {
  if (y >= out.rows.end) return;
  std::uint8_t* const to = out.data + static_cast<std::ptrdiff_t>(y) * out.stride + x;
  if (out.units && x + unit <= out.row_bytes) {
    *reinterpret_cast<uint2*>(to) = bytes;
    return;
  }
  const std::uint64_t both = bytes.x | std::uint64_t{bytes.y} << 32;
  for (int i = 0; i < unit && x + i < out.row_bytes; ++i) to[i] = static_cast<std::uint8_t>(both >> 8 * i);
}

}  // namespace campipe
