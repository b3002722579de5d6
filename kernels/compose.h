// Puts cells into a frame.
#pragma once

#include <cstdint>
#include <span>

#include "core/frame.h"
#include "core/frame_region.h"
#include "core/gpu.h"
#include "kernels/device_table.h"
#include "kernels/level_rule.h"

namespace campipe {

// What is laid over a cell, see kernels/overlay_rule.h; rows are those of `region`, of chroma half as many, of half the
// width. No width: nothing.
struct CellOverlay {
  FrameRegion region;  // in the cell
  std::span<const std::uint8_t> luma_keep;
  std::span<const std::uint8_t> luma_add;
  std::span<const std::uint8_t> chroma_keep;
};

// All overlays in the GPU's memory. Made at configuration; must outlive the work that is enqueued with it.
class CellOverlays {
 public:
  // Throws GpuError.
  explicit CellOverlays(std::span<const CellOverlay> overlays);

  struct Entry {
    FrameRegion region;
    std::uint32_t luma_keep;  // where they begin in the bytes
    std::uint32_t luma_add;
    std::uint32_t chroma_keep;
  };
  [[nodiscard]] const Entry* entries() const { return entries_.as<Entry>(); }
  [[nodiscard]] const std::uint8_t* bytes() const { return bytes_.as<std::uint8_t>(); }

 private:
  DeviceTable entries_;
  DeviceTable bytes_;
};

// nv12, in memory that the current GPU can use.
struct ComposedCell {
  const std::uint8_t* luma = nullptr;
  const std::uint8_t* chroma = nullptr;
  std::int32_t luma_stride = 0;
  std::int32_t chroma_stride = 0;
  FrameRegion region = {};    // of the frame that it is put into
  std::int32_t overlay = -1;  // number of what is laid over it; -1: nothing
  bool other_range = false;   // its levels are changed by `levels`
};

inline constexpr std::size_t most_composed_cells = 64;  // by one call

// `cells` do not overlap; `out` is nv12 in memory of the current GPU. Enqueues one kernel on `stream` and returns at
// once. Throws GpuError when the launch fails.
void enqueue_compose(std::span<const ComposedCell> cells, const CellOverlays& overlays, const LevelRules& levels,
                     const MutableFrameView& out, GpuStream stream);

}  // namespace campipe
