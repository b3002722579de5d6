// The frames of which several nodes make a part each (tiles): whole ones, in their order. A frame is known by its
// source number and by nothing else, and parts belong together only if they were made of the same source.
//
// - A frame of which a part will not come is given up at once: each ring shows how far its writer is
//   (FrameRingReader::resolved), also with frames that it dropped.
// - A part that is late is waited for: with `drop` for a short time from the last sign of its tile on, with `block` as
//   long as for any reader, or for a link where another node of the cluster makes it. Then its tile is late, and no
//   frame waits for it until it gives a sign again. A tile whose part comes when it has been given up is slow, and not
//   away: it is waited for longer from then on.
// - What is joined is complete: the CPU asks for no more than that, since nodes publish nothing else
//   (docs/decisions/0012). So no process that stops takes this one with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/worker/frame_assembly.h"
#include "app/worker/node_input.h"
#include "app/worker/reader_queue.h"
#include "app/worker/tile_part.h"
#include "core/clock.h"
#include "stages/filters/tile_parts.h"

namespace campipe {

namespace messages {
struct Join;
}  // namespace messages

class JoinInput final : public NodeInput {
 public:
  // `edges`: of the tiles, in their order. `place`: of the node. What it is given outlives it.
  JoinInput(std::string name, const std::vector<EdgeId>& edges, const messages::Join& asked, const ReaderQueue& queue,
            const RigPage& page, NodePlace& place);

  void add(EdgeId edge, InputRing ring) override { part(edge).rings().add(ring); }
  void accuse_writer(EdgeId edge) override { part(edge).accuse_writer(); }
  void finish(EdgeId edge) override { part(edge).rings().finish(); }
  void finish() override;
  void abandon() override;
  void run(FrameTaker& taker) override;
  void leave() override { leaves_ = true; }
  [[nodiscard]] bool is_abandoned() const override { return parts_.front()->rings().is_abandoned(); }

 private:
  // How frames come about that are made of one source.
  struct Made {
    BandSource source;
    TileParts parts;  // with their pixel format
    NodeOutput::Source as_source;
    bool is_ready = false;
  };

  TilePart& part(EdgeId edge);
  [[nodiscard]] TilePart* first();
  [[nodiscard]] bool is_over() const;
  void settle(std::uint64_t number, TilePart& has_it, FrameTaker& taker);
  void wait(TilePart& part, FrameTaker& taker);
  void wait_for_any(FrameTaker& taker);
  void give_up(const TilePart& has_it, DropCause cause, FrameTaker& taker);
  void pass(std::uint64_t number);
  void expect(const InputRing& ring);
  void describe(const InputRing& ring, const FrameFormat& part);
  bool get_ready(FrameTaker& taker);
  [[nodiscard]] bool agree(std::size_t parts) const;
  void join(FrameTaker& taker);
  FrameRingReader::Lease assemble(FrameTaker& taker);

  std::string name_;
  std::vector<FilterConfig> filters_;
  unsigned queue_size_;
  std::vector<std::unique_ptr<TilePart>> parts_;  // by tile
  FrameTaker* taker_ = nullptr;
  FrameAssembly assembly_;
  std::optional<Made> made_;                    // of the frame that was asked for last; none: it is unknown
  std::optional<Clock::time_point> try_again_;  // the GPU had no room
  std::uint64_t awaited_ = 0;                   // the frame that waits for parts,
  Clock::time_point awaited_since_;             // and since when
  bool leaves_ = false;
};

}  // namespace campipe
