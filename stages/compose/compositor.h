// Draws a mosaic on the CPU: the newest frame of each cell, or a card that says why there is none, and names on them.
// Frames have the size of their cell (the filter `fit` makes them so): nothing is scaled here.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/frame.h"
#include "core/frame_pool.h"
#include "stages/compose/canvas.h"
#include "stages/compose/cell_states.h"
#include "stages/compose/label.h"

namespace campipe {

// One thread. What it costs grows with what has changed: a cell whose frame is the one that it showed last is not
// copied again, as long as the mosaic's frames come back in time.
class Compositor {
 public:
  // `config.format`: i420 or nv12.
  explicit Compositor(CanvasConfig config);

  // One for each cell, in the order of the configuration; their frames are i420 or nv12 in host memory, and are not
  // read after this returns. The frame that comes out returns to a pool when its owner is dropped (any thread).
  // Allocates nothing but the first frames. Throws Error where a frame has not its cell's size.
  FrameRef compose(std::span<const CellContent> contents);

 private:
  void draw(std::size_t cell, const CellContent& content, const MutableFrameView& canvas) const;

  CanvasConfig config_;
  CellStates states_;
  std::vector<Label> labels_;  // of each cell
  std::shared_ptr<FramePool> pool_;
};

}  // namespace campipe
