// One output's filters, with the turn that its source asks for before them, on the node's CPU or GPU.
#pragma once

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
  OutputFilters(const std::vector<FilterConfig>& filters, NodePlace& place) : config_(filters), place_(place) {}

  // Makes the filters where they are not there, or for another rotation (degrees clockwise). Else as
  // FramePath::configure().
  FrameFormat configure(const FrameFormat& in, int rotation, bool on_gpu);
  // Once configured: see FramePath.
  [[nodiscard]] EncoderPlace place() const { return path_->place(); }
  std::optional<FrameRef> process(RingInUse* ring, FrameRingReader::Lease& lease, const std::function<void()>& beat,
                                  const MutableFrameView* target);
  // What they take is given up, until they are configured again.
  void drop() { path_.reset(); }
  [[nodiscard]] const Device& gpu() const { return place_.gpu; }

 private:
  const std::vector<FilterConfig>& config_;
  NodePlace& place_;
  std::unique_ptr<FramePath> path_;
  int rotation_ = 0;  // that path_ makes
};

}  // namespace campipe
