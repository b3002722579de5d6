// One output's filters, with the turn that its source asks for before them, on the camera's CPU or GPU.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/config/config.h"
#include "app/worker/frame_path.h"

namespace campipe {

// Where a camera's frames are worked on. On a GPU its outputs' work is in order, so that they may share a lease
// (FrameRingReader::use_on).
struct CameraPlace {
  Device gpu;
  SharedGpuStream stream;  // once the first output has made it
};

// Used by the camera's thread. What it is given outlives it.
class OutputFilters {
 public:
  OutputFilters(const ResolvedOutput& config, CameraPlace& place) : config_(config), place_(place) {}

  // Makes the filters where they are not there, or for another rotation (degrees clockwise). Else as
  // FramePath::configure().
  FrameFormat configure(const FrameFormat& in, int rotation, bool on_gpu);
  // Once configured: see FramePath.
  [[nodiscard]] EncoderPlace place() const { return path_->place(); }
  std::optional<FrameRef> process(RingInUse& ring, FrameRingReader::Lease& lease, const std::function<void()>& beat);
  // What they take is given up, until they are configured again.
  void drop() { path_.reset(); }
  [[nodiscard]] const Device& gpu() const { return place_.gpu; }

 private:
  const ResolvedOutput& config_;
  CameraPlace& place_;
  std::unique_ptr<FramePath> path_;
  int rotation_ = 0;  // that path_ makes
};

}  // namespace campipe
