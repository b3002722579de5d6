// The packets of one output on their way to the publisher: a packet ring for each encoder, of one epoch after another.
//
// Where another node had the output before, its packets wait in memory until it is known where that one has ended: with
// which epoch, and which number (go_on_from()).
//
// Where the publisher takes no packets and the ring is full, `drop` drops up to the next key frame for which there is
// room; `block` makes the camera wait, for at most 30 s a packet. What is dropped is counted.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/worker/output_events.h"
#include "core/packet.h"
#include "ipc/packet_ring.h"

namespace campipe {

namespace messages {
struct EncodedOutput;
}  // namespace messages
struct EncodeBlock;

// Used by one thread. What it is given outlives it.
class PacketOutput {
 public:
  PacketOutput(const messages::EncodedOutput& output, EncodeBlock& block, const OutputEvents& events);

  // From now on packets go to a ring of the next epoch, which is reported. `capacity` in bytes. Throws where there is
  // no memory or descriptor; then nothing has changed.
  void begin(std::size_t capacity, const StreamParameters& parameters);
  // `whole`: a successor may go on behind it. Others come into the ring together with those that follow, up to one that
  // is. False: it was dropped.
  bool push(const PacketView& packet, bool whole = true);
  // No packet will come any more, unless it begins again.
  void close();
  // Of one whose packets wait: those, and all that come, go to rings of the epochs from `epoch` on, of which the first
  // follows `base` packets. Throws like begin().
  void go_on_from(std::uint64_t epoch, std::uint64_t base);
  // They wait no more, and are given up.
  void forget_waiting() { waiting_.clear(); }

 private:
  struct WaitingPacket {
    std::vector<std::uint8_t> data;
    PacketView view;  // but for its data
    bool whole = true;
  };
  // What is to be a packet ring.
  struct WaitingRing {
    std::size_t capacity = 0;
    StreamParameters parameters;
    std::vector<WaitingPacket> packets;
    bool closed = false;
  };
  bool push_to_ring(const PacketView& packet, bool whole);

  const messages::EncodedOutput& output_;
  EncodeBlock& block_;
  const OutputEvents& events_;
  std::unique_ptr<PacketRingWriter> ring_;
  bool waits_;                        // for go_on_from()
  std::vector<WaitingRing> waiting_;  // meanwhile
  std::uint64_t epoch_;               // of the next ring
  std::uint64_t base_;                // packets of all epochs before this process
  std::uint64_t pushed_ = 0;          // packets in rings, of all epochs of this process
  bool need_key_ = false;             // a packet was lost: those up to the next key frame are useless
};

}  // namespace campipe
