// The receiving end of a link: an ordinary writer of frame rings, into whose slots frames arrive.
//
// It claims slots ahead and lets the peer send as many frames, so that each has its memory before it comes, and no more
// than those are under way. A frame is published when the readers' queues have room for it; with `drop` it waits for a
// second at most, as in any node (RingOutput).
//
// A connection that is lost ends the ring: for its readers that is a writer that is gone. The next connection begins
// one of the next epoch, and so does the peer's next ring.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/config/drop_policy.h"
#include "app/link/ring_rate.h"
#include "app/link/session.h"
#include "app/link/stamp_offset.h"
#include "ipc/drop_counters.h"
#include "ipc/frame_ring.h"
#include "ipc/link_counts.h"
#include "stages/decoders/slot_layout.h"

namespace campipe {

class ReceivingEnd final : private LinkSession::Owner {
 public:
  struct Rules {
    std::string name;
    DropPolicy policy = DropPolicy::drop;
    unsigned queue = 8;  // frames that may wait for a reader
    unsigned readers = 1;
    unsigned window = 2;                               // frames under way
    std::size_t largest_slot = std::size_t{64} << 20;  // bytes
    // Of predecessors: the rings' next epoch, frames published, and the newest one that is settled (link::Hello).
    std::uint64_t epoch = 1;
    std::uint64_t base = 0;
    std::uint64_t settled = 0;
    LinkCounts* counts = nullptr;  // where it counts, and its predecessors did; null: in itself
    LinkTiming timing = {};
  };
  // Called by run().
  struct Events {
    // A ring begins: its readers are to be sent it.
    std::function<void(const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate, std::int32_t rotation)>
        on_ring;
    std::function<void(DropCause)> on_dropped = [](DropCause) {};
    // Asked once for each frame, in their order, before it is published; false: it is dropped.
    std::function<bool(std::uint64_t source_number)> wanted = [](std::uint64_t) { return true; };
    // A reader wrote what only the writer may write (FrameRingWriter).
    std::function<void()> on_faulty_reader = [] {};
    std::function<void()> beat = [] {};                 // at least every 100 ms
    std::function<bool()> left = [] { return false; };  // asked as often: whether run() is to return
  };

  ReceivingEnd(std::unique_ptr<LinkWire> wire, Rules rules, Events events);
  ~ReceivingEnd() override;
  ReceivingEnd(const ReceivingEnd&) = delete;
  ReceivingEnd& operator=(const ReceivingEnd&) = delete;

  [[nodiscard]] const LinkCounts& counts() const { return counts_; }
  // Until the peer has sent its last frame and that is published, or it has to leave.
  void run();

 private:
  struct Filled {
    unsigned slot = 0;
    link::Frame frame;
  };

  link::Hello hello() override;
  link::Message beat() override;
  std::span<std::uint8_t> place(const link::Frame& frame) override;

  void step();
  void on_event(LinkSession::Event event);
  void on_message(const link::Message& message);
  void on_shape(const link::Shape& shape);
  void on_frame(const link::Frame& frame);
  void on_bye(const link::Bye& bye);
  void open_ring(const link::Shape& shape);
  void close_ring();
  void on_lost();
  void cut_off(const std::string& reason);
  void count_gap(std::uint64_t number);
  void settle(std::uint64_t number);
  void publish_what_may();
  [[nodiscard]] bool may_publish();
  [[nodiscard]] FrameRingWriter::Readers readers() const;
  void wait_for_readers();
  void publish(const Filled& filled);
  void claim_slots();
  void give_credit();

  Rules rules_;
  Events events_;
  LinkCounts own_counts_{};
  LinkCounts& counts_;
  std::shared_ptr<FrameRingWriter> ring_;
  std::size_t slot_bytes_ = 0;
  std::deque<FrameRingWriter::Slot> ready_;    // claimed, for frames to come
  std::deque<FrameRingWriter::Slot> filling_;  // of those that are arriving
  std::deque<Filled> waiting_;                 // for room
  std::optional<Deadline> waits_until_;        // the first of those; none: nothing waits
  std::uint32_t shapes_ = 0;                   // that have come over this connection
  std::optional<link::Shape> next_;            // of the ring that begins when nothing waits any more
  RingRate ring_rate_;                         // of this connection
  StampOffset clock_;
  std::uint64_t epoch_;
  std::uint64_t published_;     // over all epochs
  std::uint64_t received_;      // the newest frame's number
  std::uint64_t settled_;       // up to here nothing waits
  std::uint64_t answered_;      // see Hello: likewise, without what was lost with the connection
  std::uint64_t up_to_ = 0;     // the newest credit
  std::uint64_t told_ = 0;      // the newest `settled` in one
  std::uint64_t resolved_ = 0;  // by the peer
  bool is_new_ = false;         // nothing of the ring was published: its readers are about to come
  bool is_stuck_ = false;       // a reader took nothing for too long
  bool is_over_ = false;        // the peer has said goodbye
  LinkSession session_;         // uses the rest
};

}  // namespace campipe
