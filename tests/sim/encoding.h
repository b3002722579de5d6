// An output that a simulated worker encodes: a packet for each frame, in packet rings. Of a node that takes over,
// packets wait in memory until the other node is done (app/worker/packet_output.h). Of a member of a synchronised group
// frames pass the real GroupGate first, in steps.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/rings/demand.h"
#include "app/worker/group_gate.h"
#include "app/worker/output_events.h"
#include "ipc/drop_causes.h"
#include "ipc/encode_block.h"
#include "ipc/packet_ring.h"
#include "tests/sim/child.h"
#include "tests/sim/rates.h"

namespace campipe::sim {

class Encoding final : private GroupGate::Stream {
 public:
  // `group`: null where it is in none.
  Encoding(Child& child, const messages::EncodedOutput& asked, std::shared_ptr<GroupPage> group);

  [[nodiscard]] OutputId id() const { return output_; }
  // It takes another frame: none waits that has to be pushed first.
  [[nodiscard]] bool has_room() const;
  // `number`: of the source's frames. Where it is made of joined frames, those before it that have not come are lost.
  void push(const FrameTimes& times, std::uint64_t number, FrameSize size);
  // Likewise, of one that will not come.
  void give_up(std::uint64_t number, DropCause cause);
  // A set of it is decided.
  bool is_done_with_frame();
  // Its process has to leave.
  void act_undecided();
  // It waits for GoOn before it looks at a frame of its own.
  [[nodiscard]] bool waits_to_go_on() const { return gate_ != nullptr; }
  // Encodes what the group has decided meanwhile; called while the node has no frame.
  void follow();
  // Its frames have gone over to another node.
  void hand_over();
  // No frame will come. False: it is still about what others decide.
  bool has_finished();
  // What waits goes into the ring, as far as there is room with policy block. False: something is left.
  bool flush();
  // The other node is done: packets follow its own.
  void go_on(const messages::GoOn::Output& from, bool died);
  // From now on it has half the width and height, or all of it: another encoder, with a ring of its own.
  void shrink(bool half);
  // What waits goes into the ring as far as there is room, and is lost else.
  void abandon();
  void close();

 private:
  struct Waiting {
    FrameTimes times;
    FrameSize size{};
    Clock::time_point since;
  };

  [[nodiscard]] bool takes(const FrameRef& /*frame*/) const override { return true; }
  void encode(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) override;
  void drop(DropCause cause) override;
  void note_set(const FrameTimes& times, bool pushed);
  // The next packet begins another one, with a key frame.
  void end_ring();
  void open(FrameSize size);
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
  OutputEvents events_;
  GroupConfig group_;
  std::unique_ptr<GroupGate> gate_;              // null: it is in no group
  std::optional<Clock::time_point> arrived_at_;  // at a set that is not decided yet
  bool finishes_ = false;
  FrameSize newest_{};  // size of the frame that was pushed last
  std::deque<Waiting> waiting_;
  std::optional<PacketRingWriter> ring_;
  FrameSize size_{};  // of the frames in it
  std::uint64_t pushed_ = 0;
  std::uint64_t frames_ = 0;
  bool need_key_ = false;
  bool is_joined_;
  std::uint64_t resolved_ = 0;  // the newest frame that is encoded or counted, of what is joined
  bool resumes_;                // the first frames that are missing were lost with another worker
};

}  // namespace campipe::sim
