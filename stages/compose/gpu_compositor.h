// Draws a mosaic on a GPU, as Compositor (compositor.h) does on the CPU, to the bit. CUDA only.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/frame.h"
#include "core/gpu.h"
#include "stages/compose/canvas.h"

namespace campipe {

// Used by one thread, whose current GPU (use_gpu) it works on. All work is enqueued on one stream.
class GpuCompositor {
 public:
  // `config.format`: nv12. Throws GpuError where there is no room on the GPU.
  GpuCompositor(const CanvasConfig& config, SharedGpuStream stream);
  ~GpuCompositor();

  // One for each cell, in the order of the configuration; their frames are nv12 in memory that the current GPU can use,
  // complete or for earlier work on the stream, and stay as they are until what is enqueued here is done (leases must
  // have been given to FrameRingReader::use_on with this stream). The frame that comes out is for later work on the
  // same stream; it returns to a pool when its owner is dropped (any thread). Does not wait for the GPU: where a card's
  // text changes before the last one has arrived there, the old one is shown until a later call. Throws Error where a
  // frame has not its cell's size, GpuError when the GPU failed.
  FrameRef compose(std::span<const CellContent> contents);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace campipe
