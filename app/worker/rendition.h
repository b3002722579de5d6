// One output of a camera in its worker: frames of a frame ring → filters → encoder → packet ring.
//
//   Rendition           decides for each frame; waits for the GPU's room, and for viewers
//     OutputFilters     the filters, and the turn before them
//     GroupGate         in a synchronised group: which frames are encoded, and when
//     EncodedStream     the encoder and what it was opened for
//       KeyFrameRequests  of new viewers
//       PacketOutput      packet rings and what is dropped where the publisher does not keep up
//
// A camera that comes back, or changes its size before a `resize`, goes on in the same file (EncodedStream::goes_on).
// Else a new encoder with a packet ring of its own begins.
// An output that is encoded on demand has no encoder while it has no viewers; new viewers of any output get a key
// frame soon.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/rings/demand.h"
#include "app/rings/motion_meter.h"
#include "app/worker/encoded_stream.h"
#include "app/worker/group_gate.h"
#include "app/worker/node_output.h"
#include "stages/sinks/snapshot.h"

namespace campipe {

class Rendition final : public NodeOutput, private GroupGate::Stream {
 public:
  Rendition(const messages::EncodedOutput& output, const RigPage& page, const OutputEvents& events, NodePlace& place);

  // Where it is encoded on demand, and has no viewers: gives up what that takes. In a group: does as the others.
  void rest() override;
  void shrink(bool half) override;
  void finish() override;
  void go_live(const HandOver::Due& due) override;
  [[nodiscard]] HandOver::Due due() const override;
  // Of one that has gone live: the packets of the node before are complete.
  void go_on(const messages::GoOn::Output& from, bool died);
  // Of one whose frames have gone over to another node; before finish().
  void hand_over();
  // Of one that takes over: nothing is to come to it before go_on().
  [[nodiscard]] bool waits_to_go_on() const { return gate_ != nullptr; }
  [[nodiscard]] OutputId output() const { return output_.output; }

 private:
  bool is_wanted() override;
  std::optional<DropCause> leaves_out(const FrameTimes& times) override;
  void make_ready(const Ready& wanted) override;
  void deliver(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) override;
  void on_failure(const std::string& reason) override;
  void on_rehearsed(const FrameRef& frame, const FrameTimes& times) override;
  [[nodiscard]] bool takes(const FrameRef& frame) const override { return stream_.takes(frame); }
  void encode(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) override;
  void drop(DropCause cause) override { count(cause); }
  FrameFormat configure(const Ready& wanted, bool on_gpu);
  [[nodiscard]] double rate_of(const Source& source) const;
  void make_encoder(const Ready& wanted, bool on_gpu, const FrameFormat& output, double frame_rate);

  messages::EncodedOutput output_;
  EncodeBlock& block_;
  MotionMeter motion_;
  std::unique_ptr<SnapshotWriter> snapshot_;
  EncodedStream stream_;
  Demand demand_;
  std::unique_ptr<GroupGate> gate_;  // null: it is in no group
};

}  // namespace campipe
