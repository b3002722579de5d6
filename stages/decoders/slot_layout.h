// Where the planes of a frame lie in a slot.
#pragma once

#include <array>
#include <cstdint>

#include "core/frame.h"

namespace campipe {

struct SlotLayout {
  std::array<std::uint32_t, 3> offset{};
  std::array<std::int32_t, 3> stride{};
  std::size_t bytes = 0;
};

inline constexpr int simd_row_alignment = 128;  // suits any SIMD code
inline constexpr int gpu_row_alignment = 256;   // what CUDA's own pitched memory and textures are content with

// For planes of `width` × `height` luma samples (a codec's, which may be larger than the frame's). Planes and rows of
// luma and of nv12's chroma begin at multiples of `alignment`; behind each plane there is room for code that reads or
// writes a little past the end.
inline SlotLayout slot_layout(PixelFormat pixels, int width, int height, int alignment = simd_row_alignment) {
  constexpr std::size_t slack = 128;
  const auto unit = static_cast<std::size_t>(alignment);
  SlotLayout layout;
  const int luma_stride = (width + alignment - 1) / alignment * alignment;
  for (int plane = 0; plane < plane_count(pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    const bool half = plane > 0 && pixels == PixelFormat::i420;
    layout.stride[at] = half ? luma_stride / 2 : luma_stride;
    layout.offset[at] = static_cast<std::uint32_t>(layout.bytes);
    const auto rows = static_cast<std::size_t>(plane == 0 ? height : (height + 1) / 2);
    layout.bytes += (static_cast<std::size_t>(layout.stride[at]) * rows + slack + unit - 1) / unit * unit;
  }
  return layout;
}

inline MutableFrameView view_in_slot(const FrameFormat& format, const SlotLayout& layout, std::uint8_t* slot) {
  MutableFrameView view{format, {}, layout.stride, MemoryKind::host, {}};
  for (int plane = 0; plane < plane_count(format.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    view.data[at] = slot + layout.offset[at];
  }
  return view;
}

}  // namespace campipe
