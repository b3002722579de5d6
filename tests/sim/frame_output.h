// Frames that a simulated node makes for the next one, as app/worker/ring_output: in frame rings of its own. What that
// waits for, it looks at again in the node's next step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "ipc/edge_blocks.h"
#include "ipc/frame_ring.h"
#include "tests/sim/child.h"
#include "tests/sim/rates.h"

namespace campipe::sim {

class FrameOutput {
 public:
  FrameOutput(Child& child, const messages::WrittenEdge& asked);

  [[nodiscard]] EdgeId edge() const { return edge_; }
  // The next frame, of that size, can be written, or is lost: it need not wait any more.
  [[nodiscard]] bool is_ready(FrameSize size);
  // Only then.
  void write(const FrameTimes& times, std::uint64_t source_number);
  // The next frame is not written: nobody is waited for any more.
  void lose(std::uint64_t source_number);
  // The next frame begins another ring.
  void renew() { renew_ = true; }
  // Of a node that takes over: the other one is done.
  void go_on(const messages::GoOn::Edge& from);
  // To be called in each step.
  void service();
  void close();

 private:
  enum class Room : std::uint8_t { yes, wait, no_reader };

  [[nodiscard]] Room room();
  [[nodiscard]] Room room_dropping(nanoseconds waited);
  [[nodiscard]] bool claim();
  void open();

  Child& child_;
  EdgeId edge_;
  EdgeWriterBlock& block_;
  bool is_cell_;  // a mosaic's, for which nothing waits
  DropPolicy policy_;
  unsigned queue_;
  unsigned readers_;
  std::uint64_t epoch_;
  std::uint64_t base_;
  std::unique_ptr<FrameRingWriter> ring_;
  FrameSize size_{};  // of its frames, and of the next one
  std::uint64_t published_ = 0;
  std::optional<Clock::time_point> since_;     // the next frame waits
  std::optional<FrameRingWriter::Slot> slot_;  // for it
  bool is_new_ = false;                        // no frame of the ring was waited for yet
  bool awaits_ = false;                        // the frame is the first one of a ring
  bool is_stuck_ = false;                      // its reader took nothing for too long
  bool renew_ = false;
};

}  // namespace campipe::sim
