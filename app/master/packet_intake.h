// A camera's packets out of their packet ring (app/rings/packet_record.h), for whoever decodes them.
// What a successor needs to go on without a loss stays in the ring: see ReplayReader. It begins at a packet that says
// what the stream is, and has frames that were published before left out by their packets (FrameClock).
//
// Used by the camera's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "app/master/decoding.h"
#include "app/rings/packet_record.h"
#include "ipc/replay_reader.h"

namespace campipe {

class PacketIntake {
 public:
  using Next = ReplayReader::Next;

  // `on_begun`: a stream has begun, and this is its first packet, which is not decoded yet.
  using OnBegun = std::function<void(const AVPacket& packet, PacketNote& note)>;
  PacketIntake(
      std::shared_ptr<PacketRingMemory> ring, Decoding& decoding,
      OnBegun on_begun = [](const AVPacket&, PacketNote&) {});

  ~PacketIntake();
  PacketIntake(const PacketIntake&) = delete;
  PacketIntake& operator=(const PacketIntake&) = delete;

  // Takes the next record and returns `packet`; the others as ReplayReader::next() does, when all has been taken. At
  // the end what is in the decoder has been shown.
  Next next(Deadline deadline);
  // Packets that a death before has cost: nothing in the ring says what stream they are of, or they refer to packets
  // that are not there any more. They are counted.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // What a reader before has tried is not decoded again, but counted as lost. Before the first next().
  void skip_tried() { skipped_through_ = reader_.tried(); }
  // Decoding has failed: it begins anew, not before then, at a packet at which that can be.
  void begin_anew(Clock::time_point then);
  // See ReplayReader.
  [[nodiscard]] std::uint64_t given_up() const { return reader_.given_up(); }

 private:
  // Of a packet at which decoding can begin.
  struct Key {
    std::int64_t packet;   // AVPacket::pos
    std::uint64_t number;  // in the ring
    std::int64_t right;    // as `packet`: who begins here has all frames from there on
  };
  void take(PacketRecord& record, std::uint64_t number);
  void take_packet(PacketRecord& record, std::uint64_t number);
  void lose(std::int64_t packet);
  void shown(std::int64_t packet);
  void empty();
  void end();

  ReplayReader reader_;
  Decoding& decoding_;
  OnBegun on_begun_;
  std::uint64_t connection_ = 0;                     // whose packets are taken; 0: none yet
  std::deque<Key> keys_;                             // key frames that were taken, and not shown yet
  std::deque<Key> shown_keys_;                       // shown, but not yet the frame from which on all are right
  std::optional<Clock::time_point> begin_again_at_;  // decoding has failed
  bool ended_ = false;
  std::uint64_t skipped_through_ = 0;  // in the ring
  std::uint64_t lost_ = 0;
};

}  // namespace campipe
