// The two ends of a link with real rings, each run by a thread: what is written into the ring here is read out of the
// ring there.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/link/receiving_end.h"
#include "app/link/sending_end.h"
#include "app/link/zeromq_wire.h"
#ifdef CAMPIPE_WITH_UCX
#include "app/link/ucx_wire.h"
#endif
#include "core/metadata_types.h"
#include "ipc/ring_slots.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {

inline const std::string link_name = "yard to wall";
inline constexpr unsigned link_queue = 4;
inline constexpr unsigned link_window = 3;

// A wire that listens at a free port of this machine, and how one connects to it.
inline std::unique_ptr<LinkWire> listening_wire(const std::optional<LinkKeys>& keys = {}) {
  return make_zeromq_wire({.address = "127.0.0.1:0", .listens = true, .keys = keys});
}
inline std::unique_ptr<LinkWire> connecting_wire(const std::string& address, const std::optional<LinkKeys>& keys = {}) {
  return make_zeromq_wire({.address = address, .keys = keys});
}

enum class Carrier : std::uint8_t { zeromq, encrypted, ucx };

// Why links cannot be carried so here; empty: they can.
inline std::string why_not(Carrier carrier) {
  if (carrier != Carrier::ucx) return {};
#ifdef CAMPIPE_WITH_UCX
  return why_no_ucx();
#else
  return "built without UCX";
#endif
}

// Not encrypted.
inline std::unique_ptr<LinkWire> plain_wire([[maybe_unused]] Carrier carrier, const std::string& address,
                                            bool listens) {
#ifdef CAMPIPE_WITH_UCX
  if (carrier == Carrier::ucx) return make_ucx_wire({.address = address, .listens = listens});
#endif
  return make_zeromq_wire({.address = address, .listens = listens, .keys = {}});
}
inline std::unique_ptr<LinkWire> listening_wire(Carrier carrier) { return plain_wire(carrier, "127.0.0.1:0", true); }

struct WirePair {
  std::unique_ptr<LinkWire> listening;
  std::unique_ptr<LinkWire> connecting;
};

inline WirePair wire_pair(Carrier carrier) {
  if (carrier != Carrier::encrypted) {
    auto listening = listening_wire(carrier);
    auto connecting = plain_wire(carrier, listening->address(), false);
    return {std::move(listening), std::move(connecting)};
  }
  auto ours = make_link_keys();
  auto theirs = make_link_keys();
  ours.peer = theirs.public_key;
  theirs.peer = ours.public_key;
  auto listening = listening_wire(ours);
  auto connecting = connecting_wire(listening->address(), theirs);
  return {std::move(listening), std::move(connecting)};
}

// Frame `number` of what is linked: its bytes, times and metadata follow from the number.
inline FrameRecord linked_record(std::uint64_t number) {
  FrameRecord record = record_of(number);
  record.source_number = number;
  record.times.duration = 40'000'000;
  record.times.media_time = pts_of(number) + 5;
  record.times.capture_utc = 1'700'000'000'000'000'000 + pts_of(number);
  record.times.capture_clock = CaptureClock::camera;
  record.times.decode_cost = 11;
  record.times.filter_cost = 12;
  record.times.set = number + 3;
  record.times.set_state = SetState::own;
  record.times.published = record.times.decoded = now_ns();
  record.times.arrival = record.times.decoded - 7'000'000;
  record.metadata.set(MotionScore{.moving = 0.5F, .score = static_cast<float>(number % 2), .threshold = 0.5F});
  return record;
}

// All but the stamps of the monotonic clock, which are of another machine.
inline bool is_linked_record(const FrameRingReader::Lease& lease) {
  const std::uint64_t number = lease.source_number;
  const FrameRecord wanted = linked_record(number);
  const FrameTimes& times = lease.times;
  const FrameTimes& sent = wanted.times;
  return times.pts == sent.pts && times.duration == sent.duration && times.media_time == sent.media_time &&
         times.capture_utc == sent.capture_utc && times.capture_clock == sent.capture_clock &&
         times.decode_cost == sent.decode_cost && times.filter_cost == sent.filter_cost && times.set == sent.set &&
         times.set_state == sent.set_state && lease.frame.view.format == wanted.format &&
         lease.frame.metadata.get<MotionScore>() == wanted.metadata.get<MotionScore>() &&
         has_pattern(bytes_of(lease), number);
}

// A ring here, its writer, and the end that sends what is in it.
class NearSide {
 public:
  NearSide(std::unique_ptr<LinkWire> wire, DropPolicy policy, LinkTiming timing = {},
           milliseconds first_connection = seconds(2))
      : end_(std::move(wire), {.name = link_name,
                               .policy = policy,
                               .queue = link_queue,
                               .on_unsent = [this](std::uint64_t) { ++unsent_; },
                               .first_connection = first_connection,
                               .timing = timing}) {
    add_ring();
    thread_ = std::jthread([this] { end_.run(); });
  }
  ~NearSide() { end_.abandon(); }
  NearSide(const NearSide&) = delete;
  NearSide& operator=(const NearSide&) = delete;

  // The next epoch, for the next frame.
  void add_ring() {
    if (writer_) writer_->close();
    memory_ = FrameRingMemory::create({.slots = campipe::ring_slots(1, link_queue, 2),
                                       .slot_bytes = picture_bytes,
                                       .epoch = ++epoch_,
                                       .base = number_});
    FrameRingObserver(memory_).require(1);
    writer_ = std::make_unique<FrameRingWriter>(memory_);
    reserve_seat(memory_, 0);
    end_.add({reopen(*memory_, FrameRingMemory::Role::reader), 0, 25, 90});
  }

  // False: with `block`, the link has taken nothing for so long.
  bool write(Clock::duration time = seconds(10)) {
    const Deadline deadline = after(time);
    if (!writer_->wait_for_reader(deadline, never) || !writer_->wait_for_room(deadline, never)) return false;
    const auto slot = writer_->claim_by(deadline, never);
    if (!slot) return false;
    ++number_;
    fill_pattern(slot->pixels.first(picture_bytes), number_);
    writer_->publish(slot->index, linked_record(number_));
    writer_->unpin(slot->index);
    return true;
  }
  void write(int frames) {
    for (int i = 0; i < frames; ++i) ASSERT_TRUE(write()) << "behind frame " << number_;
  }
  // All that was written is on its way; no more will be.
  void finish() {
    writer_->close();
    end_.finish();
    thread_.join();
  }

  // Nothing of the ring is held by anybody.
  bool is_free() { return writer_->drained(); }
  [[nodiscard]] std::uint64_t written() const { return number_; }
  [[nodiscard]] unsigned recalled() const { return FrameRingObserver(memory_).frames_of(0).recalled; }
  [[nodiscard]] const LinkCounts& counts() const { return end_.counts(); }
  [[nodiscard]] std::uint64_t unsent() const { return unsent_; }  // frames that it heard to be
  [[nodiscard]] const FrameRingMemory& memory() const { return *memory_; }

 private:
  std::atomic<std::uint64_t> unsent_{0};
  SendingEnd end_;
  std::uint64_t epoch_ = 0;
  std::atomic<std::uint64_t> number_ = 0;  // one thread writes, the test's reads
  std::shared_ptr<FrameRingMemory> memory_;
  std::unique_ptr<FrameRingWriter> writer_;
  std::jthread thread_;
};

// The end that receives, and a reader of each of its rings, which begins when the one before has ended, and waits
// before each frame while the gate is shut.
class FarSide {
 public:
  FarSide(std::unique_ptr<LinkWire> wire, DropPolicy policy, LinkTiming timing = {})
      : policy_(policy),
        end_(std::move(wire),
             {.name = link_name,
              .policy = policy,
              .queue = link_queue,
              .window = link_window,
              .largest_slot = 4 * picture_bytes,
              .timing = timing},
             events()) {
    thread_ = std::jthread([this] {
      end_.run();
      ended_ = true;
    });
  }
  ~FarSide() {
    leaves_ = true;
    open_gate();
  }
  FarSide(const FarSide&) = delete;
  FarSide& operator=(const FarSide&) = delete;

  void shut_gate() { gate_shut_ = true; }
  void open_gate() { gate_shut_ = false; }

  // The peer has said goodbye.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::vector<std::uint64_t> numbers() const {
    const std::lock_guard lock(mutex_);
    return numbers_;
  }
  [[nodiscard]] std::size_t read() const { return numbers().size(); }
  [[nodiscard]] unsigned damaged() const { return damaged_; }
  [[nodiscard]] unsigned rings() const { return rings_; }
  [[nodiscard]] std::uint64_t refused() const { return end_.counts().refused; }
  // Rings that have ended for their reader.
  [[nodiscard]] unsigned rings_ended() const { return rings_ended_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // Of the newest frame, since it had arrived at its source.
  [[nodiscard]] std::int64_t age() const { return age_; }
  [[nodiscard]] const LinkCounts& counts() const { return end_.counts(); }

 private:
  ReceivingEnd::Events events() {
    ReceivingEnd::Events events;
    events.on_ring = [this](const FrameRingMemory& ring, std::uint64_t, double rate, std::int32_t rotation) {
      EXPECT_EQ(rate, 25);
      EXPECT_EQ(rotation, 90);
      const auto memory = reopen(ring, FrameRingMemory::Role::reader);
      reserve_seat(memory, 0);
      auto reader = std::make_unique<FrameRingReader>(memory, 0);
      reader->attach(policy_ == DropPolicy::block, link_queue);
      const unsigned before = rings_++;
      if (readers_.size() > 1) readers_.pop_front();  // which has long read all
      readers_.emplace_back([this, reader = std::move(reader), before] {
        eventually([&] { return leaves_ || rings_ended_ == before; });
        read_all(*reader);
      });
    };
    events.on_dropped = [this](DropCause) { ++dropped_; };
    events.on_faulty_reader = [] { ADD_FAILURE() << "a reader is accused"; };
    events.left = [this] { return leaves_.load(); };
    return events;
  }

  void read_all(FrameRingReader& reader) {
    while (!leaves_) {
      if (gate_shut_ && !eventually([this] { return !gate_shut_; }, milliseconds(20))) continue;
      FrameRingReader::Lease lease;
      const auto next = reader.next(lease, after(milliseconds(20)));
      if (next == FrameRingReader::Next::timeout) continue;
      if (next != FrameRingReader::Next::frame) {
        EXPECT_EQ(next, FrameRingReader::Next::ended);
        ++rings_ended_;
        return;
      }
      if (!is_linked_record(lease)) ++damaged_;
      age_ = now_ns() - lease.times.arrival;
      const std::lock_guard lock(mutex_);
      numbers_.push_back(lease.source_number);
    }
  }

  DropPolicy policy_;
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> numbers_;
  std::atomic<unsigned> damaged_{0};
  std::atomic<unsigned> rings_{0};
  std::atomic<unsigned> rings_ended_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::int64_t> age_{0};
  std::atomic<bool> gate_shut_{false};
  std::atomic<bool> leaves_{false};
  std::atomic<bool> ended_{false};
  std::deque<std::jthread> readers_;
  ReceivingEnd end_;
  std::jthread thread_;
};

// Both count the same frames as lost, and none twice.
inline void expect_balanced(const NearSide& near, const FarSide& far) {
  EXPECT_EQ(near.counts().taken, near.counts().delivered + near.counts().lost);
  EXPECT_EQ(near.counts().taken, far.counts().delivered + far.dropped() + far.counts().lost);
  EXPECT_EQ(near.counts().lost, far.counts().lost);
}

}  // namespace campipe::test
