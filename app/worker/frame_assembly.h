// Whole frames of the parts that several nodes made, in the memory of the node that joins them: on a GPU by copies from
// mapped rings, behind one another on the node's stream.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/worker/frame_path.h"
#include "app/worker/output_filters.h"
#include "core/frame_pool.h"
#include "stages/filters/tile_parts.h"

namespace campipe {

// Used by the node's thread. What it is given outlives it.
class FrameAssembly {
 public:
  explicit FrameAssembly(NodePlace& place) : place_(place) {}

  // For parts with rows `rows` of frames of `format`. Returns the format of what finish() gives: on a GPU nv12. Throws
  // GpuError where the GPU has no room.
  FrameFormat configure(const FrameFormat& format, const std::vector<FrameRows>& rows);
  // To begin the next frame.
  void begin();
  // Copies a part to its place, and gives it back. False: what made it died before it was complete. Calls `beat` while
  // it waits. Throws GpuError.
  bool add(std::size_t part, RingInUse& ring, FrameRingReader::Lease& lease, const std::function<void()>& beat);
  // The frame, with all parts that were added, complete.
  FrameRef finish();

 private:
  NodePlace& place_;
  std::vector<FrameRows> rows_;
  std::vector<std::unique_ptr<FramePath>> copies_;  // without filters: one for each part, as their sizes differ
  std::shared_ptr<FramePool> pool_;
  FramePool::Lease frame_;
};

}  // namespace campipe
