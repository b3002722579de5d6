// What a node makes for further nodes: frames of a frame ring → filters → a frame ring of its own. The last filter
// writes into the ring's slot, and a frame is published when it is complete (docs/decisions/0012): what was made of a
// frame whose writer died never travels on, and no reader waits for this process's GPU.
//
// A tile (messages::Tile) makes its rows of what the filters give, each band a frame of its own; or nothing, where the
// frames are not tiled, or into fewer. It finds which by the source, as the join does (stages/filters/tile_parts.h).
//
// A ring is replaced by one of the next epoch where the frames' format or rate changes, and where the supervisor asks
// for it. Readers then go on with the next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/worker/node_output.h"
#include "app/worker/reader_queue.h"
#include "ipc/frame_ring.h"
#include "ipc/ids.h"
#include "stages/decoders/slot_layout.h"

namespace campipe {

struct EdgeWriterBlock;
class RigPage;

class RingOutput final : public NodeOutput {
 public:
  RingOutput(const messages::WrittenEdge& edge, const ReaderQueue& queue, const RigPage& page,
             const OutputEvents& events, NodePlace& place);

  void rest() override;
  void finish() override { close(); }
  [[nodiscard]] EdgeId edge() const { return edge_.edge; }
  // The next frame begins a ring of the next epoch.
  void renew() { renew_ = true; }
  // Of one that has gone live: the ring of the node before has all its frames.
  void go_on(const messages::GoOn::Edge& from);

 private:
  void make_ready(const Ready& wanted) override;
  std::optional<FrameRef> run_filters(RingInUse* ring, FrameRingReader::Lease& lease) override;
  void deliver(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) override;
  void on_failure(const std::string& reason) override;
  void on_resolved(std::uint64_t number) override;
  // What the frames of a ring have in common.
  struct Made {
    FrameFormat format;  // of the filters' output
    FrameRows rows;      // of it, that are made: its frames are as high
    BandSource source;   // of a tile's
    double frame_rate = 0;
    friend bool operator==(const Made&, const Made&) = default;
  };
  Made configure(const Ready& wanted);
  Made configure_tile(const Ready& wanted, const messages::Tile& tile);
  void open(const Made& made);
  void close();
  [[nodiscard]] MutableFrameView target() const;
  [[nodiscard]] bool beat_or_abandon() const;
  bool wait_for_room();
  std::optional<FrameRingWriter::Slot> claim();

  messages::WrittenEdge edge_;
  ReaderQueue queue_;
  EdgeWriterBlock& block_;
  std::shared_ptr<FrameRingWriter> ring_;
  Made made_;
  FrameFormat format_;  // of the ring's frames
  SlotLayout layout_;
  std::optional<FrameRingWriter::Slot> slot_;  // that is being filled
  std::uint64_t published_ = 0;                // by this process
  bool renew_ = false;
  bool is_new_ = false;    // no frame of the ring was handed on: its readers are about to come
  bool is_stuck_ = false;  // its reader took nothing for too long
  std::string untiled_;    // of a tile: why its frames are whole
  bool nothing_ = false;   // likewise: it has no rows of the frames that come now
};

}  // namespace campipe
