// Reads a packet ring so that its reader may die at any moment: everything since the key frame from which a successor
// can go on stays in the ring. For who decodes the packets. A frame is often shown, or handed on, long after its packet
// was read: the decoder keeps some packets back, and others refer to them.
//
// Packets are given back up to a key frame when that key frame's own frame has been handed on: frames come out of a
// decoder in the order in which they are shown, so all before it have been, too. A successor decodes again from there,
// and leaves out what its predecessor has handed on; how far that was must be where it outlives the process, as a frame
// ring's head does.
//
// The ring is bounded. Where the packets since the last key frame are larger than the ring, its writer asks for room
// although most has been read. Then the reader gives up what only a successor would need: what lies before the next key
// frame in the ring or, if there is none, all that it has read. If it dies then, frames are lost up to the next key
// frame: its successor finds a first packet that is none.
//
// Used by one thread, one at a time for each ring.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "ipc/packet_ring.h"

namespace campipe {

class ReplayReader {
 public:
  using Next = PacketRingReader::Next;

  // Begins at the first packet that its predecessor has not given back.
  explicit ReplayReader(std::shared_ptr<PacketRingMemory> memory);

  // As PacketRingReader::next(), but never `full`. The packet's data stay in place until the next call of a function of
  // this object: whoever needs them longer, as decoders do, copies them.
  Next next(PacketView& packet, std::uint64_t& number, Deadline deadline);
  // A frame that came in this packet has been handed on, or is left out for good. Frames in the order in which the
  // decoder shows them.
  void shown(std::uint64_t number);
  // So have all frames of the packets that were read: the decoder is empty, and begins anew at the next packet.
  void all_shown();
  // As PacketRingReader's.
  [[nodiscard]] std::uint64_t tried() const { return reader_.tried(); }
  void set_taken(std::uint64_t number) { reader_.set_taken(number); }
  void set_note(unsigned place, const PacketRingNote& note) { reader_.set_note(place, note); }
  // Packets that were given up for want of room: had the reader died then, their frames would have been lost.
  [[nodiscard]] std::uint64_t given_up() const { return given_up_; }

 private:
  void give_up();
  void release_through(std::uint64_t number);

  PacketRingReader reader_;
  std::deque<std::uint64_t> keys_;  // numbers of the key frames that were read and are still in the ring
  std::uint64_t newest_;            // that was read
  std::uint64_t given_up_ = 0;
};

}  // namespace campipe
