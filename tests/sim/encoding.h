// An output that a simulated worker encodes: a packet for each frame, in packet rings. Of a node that takes over,
// packets wait in memory until the other node is done (app/worker/packet_output.h).
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/rings/demand.h"
#include "ipc/encode_block.h"
#include "ipc/packet_ring.h"
#include "tests/sim/child.h"

namespace campipe::sim {

class Encoding {
 public:
  Encoding(Child& child, const messages::EncodedOutput& asked);

  [[nodiscard]] OutputId id() const { return output_; }
  // It takes another frame: none waits that has to be pushed first.
  [[nodiscard]] bool has_room() const;
  void push(const FrameTimes& times);
  // What waits goes into the ring, as far as there is room with policy block. False: something is left.
  bool flush();
  // The other node is done: packets follow its own.
  void go_on(const messages::GoOn::Output& from);
  // From now on it has half the width and height, or all of it: another encoder, with a ring of its own.
  void shrink(bool half);
  void close();

 private:
  struct Waiting {
    FrameTimes times;
    Clock::time_point since;
  };

  void open();
  // False: with policy block it waits for room.
  bool push_to_ring(const Waiting& frame);

  Child& child_;
  std::string name_;
  OutputId output_;
  EncodeBlock& block_;
  DropPolicy policy_;
  std::uint64_t epoch_;
  std::uint64_t base_;
  bool half_size_;
  bool waits_;                    // for go_on()
  std::optional<Demand> demand_;  // it is encoded only while somebody watches
  std::deque<Waiting> waiting_;
  std::optional<PacketRingWriter> ring_;
  std::uint64_t pushed_ = 0;
  std::uint64_t frames_ = 0;
  bool need_key_ = false;
};

}  // namespace campipe::sim
