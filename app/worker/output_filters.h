// One output's filters, on the node's CPU or GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/worker/frame_path.h"

namespace campipe {

// Where a node's frames are worked on. On a GPU its outputs' work is in order, so that they may share a lease
// (FrameRingReader::use_on).
struct NodePlace {
  Device gpu;
  SharedGpuStream stream;  // once the first output has made it
};

// Used by the node's thread. What it is given outlives it.
class OutputFilters {
 public:
  explicit OutputFilters(NodePlace& place) : place_(place) {}

  // Makes the filters where they are not there, or others are. Else as FramePath::configure().
  FrameFormat configure(const std::vector<FilterConfig>& filters, const FrameFormat& in, bool on_gpu,
                        RowRange band = all_rows);
  // Once configured: see FramePath.
  [[nodiscard]] EncoderPlace place() const { return path_->place(); }
  std::optional<FrameRef> process(RingInUse* ring, FrameRingReader::Lease& lease, const std::function<void()>& beat,
                                  const MutableFrameView* target);
  // What process() took for its last frame, in ns.
  [[nodiscard]] std::int64_t cost() const { return cost_; }
  // What they take is given up, until they are configured again.
  void drop() { path_.reset(); }
  [[nodiscard]] const Device& gpu() const { return place_.gpu; }

 private:
  NodePlace& place_;
  std::unique_ptr<FramePath> path_;
  std::vector<FilterConfig> filters_;  // of path_
  std::int64_t cost_ = 0;
};

}  // namespace campipe
