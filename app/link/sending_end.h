// The sending end of a link: an ordinary reader of frame rings, whose frames it sends.
//
// It takes a frame when the receiving end has room for it (link::Credit). Until then frames wait in the ring, as with
// any reader that is slow: the oldest ones are taken back (`drop`), or the writer waits (`block`). While there is no
// connection it takes all frames and counts them as lost, whatever the policy is, so that no writer waits for a
// network.
//
// Frames are sent out of their slots, which are given back when the transport has let go of them. Only of host memory:
// for frames on a GPU the writer has a ring for the CPU's readers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/config/drop_policy.h"
#include "app/link/session.h"
#include "app/rings/ring_queue.h"
#include "ipc/frame_ring.h"
#include "ipc/link_counts.h"

namespace campipe {

struct LinkedRing {
  std::shared_ptr<FrameRingMemory> memory;
  unsigned seat = 0;
  double frame_rate = 0;
  std::int32_t rotation = 0;
};

class SendingEnd final : private LinkSession::Owner {
 public:
  struct Rules {
    std::string name;
    DropPolicy policy = DropPolicy::drop;
    unsigned queue = 8;  // frames that may wait in the ring
    // By predecessors, and up to where it is known what became of that; nothing: of all.
    std::uint64_t taken = 0;
    std::optional<std::uint64_t> settled = {};
    LinkCounts* counts = nullptr;        // where it counts, and its predecessors did; null: in itself
    std::function<void()> beat = [] {};  // called by run(), at least every 100 ms
    // Likewise: a frame is out of the ring, and is sent, or lost.
    std::function<void(std::uint64_t source_number)> on_taken = [](std::uint64_t) {};
    // Likewise, after that: it was not sent, and is lost.
    std::function<void(std::uint64_t source_number)> on_unsent = [](std::uint64_t) {};
    // That the first frames wait for a connection; later ones wait for none.
    std::chrono::milliseconds first_connection{2000};
    // That frames wait after a connection was lost, before they are lost as well.
    std::chrono::milliseconds reconnection{0};
    LinkTiming timing = {};
  };

  SendingEnd(std::unique_ptr<LinkWire> wire, Rules rules);

  // Any thread: the next ring; none will follow; and nothing more is to be sent.
  void add(const LinkedRing& ring) { rings_.add(ring); }
  void finish() { rings_.finish(); }
  void abandon() { rings_.abandon(); }
  [[nodiscard]] const LinkCounts& counts() const { return counts_; }

  // Until all frames of the last ring are delivered, or lost, or it was abandoned.
  void run();

 private:
  link::Hello hello() override;
  link::Message beat() override;
  std::span<std::uint8_t> place(const link::Frame& /*frame*/) override { return {}; }

  std::optional<LinkedRing> next_ring();
  void await_first_connection();
  void carry(const LinkedRing& ring);
  void say_goodbye();
  void listen(Deadline deadline);
  void on_opened();
  void send_shape();
  void on_credit(const link::Credit& credit);
  void settle(std::uint64_t number);
  [[nodiscard]] bool may_take();
  void hand_on(FrameRingReader::Lease lease);

  Rules rules_;
  RingQueue<LinkedRing> rings_;
  LinkCounts own_counts_{};
  LinkCounts& counts_;
  std::optional<link::Shape> shape_;  // of the ring that is being carried
  std::uint32_t shapes_ = 0;          // that were sent over this connection
  std::uint64_t resolved_ = 0;
  std::uint64_t taken_ = 0;    // the newest frame's number
  std::uint64_t sent_ = 0;     // the newest one's that was sent
  std::uint64_t settled_ = 0;  // up to here all is delivered or lost
  std::uint64_t up_to_ = 0;    // may be sent
  Deadline open_until_{};      // when there was a connection last
  LinkSession session_;        // uses the rest
};

}  // namespace campipe
