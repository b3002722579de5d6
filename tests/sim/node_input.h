// Where a simulated node's frames come from, as app/worker/node_input: the rings of one edge, or, of a node that joins
// tiles, those of several, by the real TilePart. A mosaic's are in tests/sim/mosaic_input.h.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "app/control/messages/run_node.h"
#include "app/worker/tile_part.h"
#include "ipc/edge_blocks.h"
#include "ipc/frame_ring.h"
#include "tests/sim/child.h"
#include "tests/sim/rates.h"

namespace campipe::sim {

class NodeInput {
 public:
  struct Frame {
    std::uint64_t number = 0;  // that the two nodes of a move know it by
    std::uint64_t source_number = 0;
    FrameSize size{};
    FrameTimes times;
    std::uint64_t taken = 0;   // frames of the ring, with this one; 0: they are of several
    std::uint64_t newest = 0;  // no frame behind this one has been taken back
    bool is_whole = true;      // no part of it is missing
  };

  NodeInput() = default;
  NodeInput(const NodeInput&) = delete;
  NodeInput& operator=(const NodeInput&) = delete;
  virtual ~NodeInput() = default;

  virtual void add(EdgeId edge, std::shared_ptr<FrameRingMemory> memory, unsigned seat) = 0;
  // No further ring of the edge comes.
  virtual void finish(EdgeId edge) = 0;
  // Of a mosaic's: it ends; a cell has changed.
  virtual void finish_all() {}
  virtual void show(unsigned /*cell*/, const messages::CellState& /*state*/) {}
  virtual void set_heed(FrameRingReader::Heed heed) = 0;
  // The next frame, which stays that until done(); nothing: it has not come.
  virtual std::optional<Frame> next() = 0;
  // The next frame is the node's own.
  virtual void become_own() {}
  // Of a node that has taken over: from that one on frames are.
  virtual void go_live(std::uint64_t /*number*/) {}
  virtual void done() = 0;
  [[nodiscard]] virtual bool is_over() const = 0;
  // Takes nothing any more.
  virtual void leave() = 0;
};

std::unique_ptr<NodeInput> make_node_input(Child& child, const messages::RunNode& asked);

}  // namespace campipe::sim
