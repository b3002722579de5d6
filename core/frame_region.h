// A rectangle of a frame, and the view of what lies in it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/frame.h"

namespace campipe {

// In luma samples, all even, so that chroma has the same edges.
struct FrameRegion {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  friend bool operator==(const FrameRegion&, const FrameRegion&) = default;
};

inline bool overlap(const FrameRegion& a, const FrameRegion& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

// Those of `rows` that are among the `count` from `first` on, counted from there; an empty range: none is.
inline RowRange rows_inside(RowRange rows, int first, int count) {
  const int begin = std::clamp(rows.begin - first, 0, count);
  return {begin, std::clamp(rows.end - first, begin, count)};
}

// `region` lies in the frame. The pixels are the frame's, and so are the rows that are there: of a band there may be
// none.
template <typename Byte>
BasicFrameView<Byte> region_of(const BasicFrameView<Byte>& frame, const FrameRegion& region) {
  BasicFrameView<Byte> view = frame;
  view.format.width = region.width;
  view.format.height = region.height;
  view.rows = {rows_inside(frame.rows.luma, region.y, region.height),
               rows_inside(frame.rows.chroma, region.y / 2, region.height / 2)};
  for (int plane = 0; plane < plane_count(frame.format.pixels); ++plane) {
    const auto i = static_cast<std::size_t>(plane);
    const int bytes_before = plane > 0 && frame.format.pixels == PixelFormat::i420 ? region.x / 2 : region.x;
    const std::ptrdiff_t rows_before = plane == 0 ? region.y : region.y / 2;
    view.data[i] += rows_before * frame.stride[i] + bytes_before;
  }
  return view;
}

}  // namespace campipe
