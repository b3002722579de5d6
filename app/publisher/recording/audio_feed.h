// A camera's audio on its way into its recording and to its push targets: rings that the master writes, read beside
// the video by the camera's thread in the publisher. It never makes the video wait: what is not there is left out, and
// where it is not taken in time the master leaves some out.
//
// A packet is given back when it is in the file, or not wanted. After a publisher's death its successor goes on behind
// the newest packet in the file.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "app/publisher/kept_packet.h"
#include "core/packet.h"
#include "ipc/packet_ring.h"

namespace campipe {

class AudioFeed {
 public:
  struct Ring {
    std::shared_ptr<PacketRingMemory> memory;
    std::uint64_t epoch = 0;
    AudioParameters stream;  // without a codec: there is no sound any more, and the ring stays empty
  };
  // A packet of a ring, as far as that had been read: what a successor has to know.
  struct Position {
    std::uint64_t epoch = 0;
    std::uint64_t number = 0;
  };
  using Taker = std::function<void(const PacketView& packet, const AudioParameters& stream)>;

  explicit AudioFeed(std::function<void(std::uint64_t epoch)> on_ring_done) : on_ring_done_(std::move(on_ring_done)) {}

  // Any thread.
  void add(const Ring& ring);

  // The rest: the camera's thread.
  // Called where a ring holds what cannot be. Before the first ring.
  void on_broken(std::function<void()> handler) { on_broken_ = std::move(handler); }
  // Gets each packet as well, once, when it is taken or kept, whatever becomes of it then.
  void listen(Taker listener) { listener_ = std::move(listener); }
  // Packets up to there are in a predecessor's file.
  void skip(const Position& position) { skipped_ = position_ = position; }
  // What there is now, or was last in a source that is away; nothing: there is none, or none any more.
  const std::optional<AudioParameters>& stream();
  // Likewise, with what decoders must know beforehand; nothing: there is none, or its first packet has not come yet.
  std::optional<AudioParameters> described();
  // The packet that take() would hand out next, if one is there.
  std::optional<PacketView> peek();
  // Hands out those with a pts before `until`, oldest first.
  void take(std::int64_t until, const Taker& taker);
  // Those that were handed out are in the file, or not wanted.
  void give_back();
  // Keeps copies of those before `until`, for the next take(), and forgets those before `from`; and the oldest, where
  // they are more than the memory is worth.
  void keep(std::int64_t from, std::int64_t until);
  [[nodiscard]] Position position() const { return position_; }
  [[nodiscard]] double fill() const { return reader_ ? reader_->fill() : 0; }

 private:
  struct Kept {
    KeptPacket packet;
    std::shared_ptr<const AudioParameters> stream;
  };
  // Read, and not handed out: it is too new.
  struct Waiting {
    PacketView packet;
    std::uint64_t number = 0;
  };
  bool advance();
  bool next_ring();
  void take_from_rings(std::int64_t until, const Taker& taker);
  Kept forget_oldest();

  std::function<void(std::uint64_t epoch)> on_ring_done_;
  std::function<void()> on_broken_ = [] {};
  Taker listener_;
  std::unique_ptr<PacketRingReader> reader_;
  std::uint64_t epoch_ = 0;
  std::shared_ptr<const AudioParameters> ring_stream_;
  std::optional<AudioParameters> stream_;
  std::vector<std::uint8_t> bytes_;  // of the packet read last
  std::optional<Waiting> waiting_;
  Position position_;  // of the newest packet handed out
  Position skipped_;
  std::deque<Kept> kept_;
  std::size_t kept_bytes_ = 0;

  std::mutex mutex_;
  std::deque<Ring> rings_;
};

}  // namespace campipe
