#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/futex.h"
#include "ipc/ready_signals.h"
#include "ipc/ring_checks.h"

namespace campipe {
namespace {

using ring::Control;
using ring::SlotState;

void tell_writer(ring::Header& header) {
  if (header.writer_sleep.load(std::memory_order_seq_cst) != ring::WriterSleep::for_room) return;
  header.room.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.room);
}

// Gives a slot back when the last copy of a lease is gone.
class HeldSlot {
 public:
  HeldSlot(std::shared_ptr<FrameRingMemory> memory, unsigned reader, unsigned slot, std::uint32_t sequence)
      : memory_(std::move(memory)), reader_(reader), slot_(slot), sequence_(sequence) {}
  HeldSlot(const HeldSlot&) = delete;
  HeldSlot& operator=(const HeldSlot&) = delete;
  ~HeldSlot() {
    failpoint("ring.reader.used");
    if (stream_) {
      give_back_on(*stream_);
    } else {
      store_done();
    }
    failpoint("ring.reader.done");
    tell_writer(memory_->header());
  }

  // From now on a GPU may read the pixels for as long as what is enqueued on `stream` runs.
  void used_on(GpuStream stream) const { stream_ = stream; }

 private:
  void store_done() { memory_->header().done[reader_][slot_].store(sequence_, std::memory_order_seq_cst); }

  void give_back_on(GpuStream stream) {
    try {
      memory_->signals()->give_back(reader_, slot_, sequence_, stream);
    } catch (const GpuError& error) {
      // Nothing runs any more in a context that is lost, so that the slot is free. Otherwise the GPU may still read it:
      // it stays held until this process is gone.
      spdlog::error("a frame could not be given back behind the GPU's work: {}", error.what());
      if (error.kind == GpuError::Kind::broken) store_done();
    }
  }

  std::shared_ptr<FrameRingMemory> memory_;
  unsigned reader_;
  unsigned slot_;
  std::uint32_t sequence_;
  mutable std::optional<GpuStream> stream_;  // mutable: a lease is read-only for who has it, but not its way back
};

FrameView view_of(const FrameRecord& record, std::span<const std::uint8_t> pixels, const ring::Description& ring) {
  const bool in_host_memory = ring.memory == MemoryKind::host;
  FrameView view{record.format, {}, record.stride, ring.memory, in_host_memory ? Device{} : ring.device};
  for (int plane = 0; plane < plane_count(record.format.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    view.data[at] = pixels.data() + record.offset[at];
  }
  return view;
}

// Of what the writer could change, though under a lease it does not.
FrameRecord copy_of(const FrameRecord& record) {
  FrameRecord copy;
  std::memcpy(&copy, &record, sizeof copy);
  return copy;
}

// Both processes read the same clock.
constexpr std::int64_t most_ahead = 1'000'000'000;  // ns

bool is_possible(const FrameRecord& record, const ring::Description& ring) {
  const bool ready = record.ready == ReadySignal::immediate || record.ready == ring.ready;
  return ready && is_possible(record, ring.slot_bytes) && record.times.published <= now_ns() + most_ahead;
}

// What stands there of the newest published frame; nothing: there is none in this epoch.
std::optional<std::int64_t> of_newest(const ring::Header& header,
                                      const std::array<std::atomic<std::int64_t>, ring::index_size>& words) {
  const std::uint32_t head = header.head.load(std::memory_order_acquire);
  if (head == 0) return std::nullopt;
  return words[head % ring::index_size].load(std::memory_order_acquire);
}

// No frame is overwritten in the index before it was so far ahead; one that is more than half a turn ahead is behind.
constexpr std::uint32_t farthest_ahead = ring::largest_sequence;

}  // namespace

FrameRingReader::FrameRingReader(std::shared_ptr<FrameRingMemory> memory, unsigned reader,
                                 std::chrono::nanoseconds spin)
    : memory_(std::move(memory)), reader_(reader), spin_(spin) {}

void FrameRingReader::attach(bool blocking, unsigned queue_size) {
  ring::Header& header = memory_->header();
  ring::Reader& self = header.readers[reader_];
  blocking_ = blocking;
  store_wait();
  self.queue_size.store(queue_size, std::memory_order_relaxed);
  resolved_ = header.resolved.load(std::memory_order_seq_cst);  // nothing up to here is for us
  // The cursor before the seat: a frame published in between is not for us, and one that is for us must lie after it.
  cursor_ = header.head.load(std::memory_order_seq_cst);
  failpoint("ring.reader.attaching");
  ReaderState reserved = ReaderState::reserved;
  broken_ = !self.state.compare_exchange_strong(reserved, ReaderState::live, std::memory_order_seq_cst);
  failpoint("ring.reader.attached");
  tell_writer(header);
}

void FrameRingReader::set_heed(Heed heed) {
  if (std::exchange(heed_, heed) != heed) store_wait();
}

void FrameRingReader::store_wait() {
  auto wait = blocking_ || heed_ == Heed::awaited ? ring::ReaderWait::always : ring::ReaderWait::burst;
  if (heed_ == Heed::unheeded) wait = ring::ReaderWait::never;
  memory_->header().readers[reader_].wait.store(wait, std::memory_order_seq_cst);
}

void FrameRingReader::leave() {
  ring::Header& header = memory_->header();
  ReaderState live = ReaderState::live;
  header.readers[reader_].state.compare_exchange_strong(live, ReaderState::leaving, std::memory_order_seq_cst);
  failpoint("ring.reader.left");
  tell_writer(header);
}

FrameRingReader::Taken FrameRingReader::take(std::uint32_t sequence, Lease& lease) {
  ring::Header& header = memory_->header();
  const ring::Description& ring = memory_->description();
  const std::uint64_t entry = header.index[sequence % ring::index_size].load(std::memory_order_acquire);
  const std::uint32_t newer = static_cast<std::uint32_t>(entry >> 32) - sequence;
  if (newer % ring::index_size != 0 || newer > farthest_ahead) return Taken::broken;
  if (newer != 0) return Taken::none;  // lapped: it was taken back long ago
  const auto slot = static_cast<unsigned>(entry & 0xffffffff);
  if (slot >= ring.slots) return Taken::broken;
  const auto bit = static_cast<std::uint16_t>(1U << reader_);
  failpoint("ring.reader.looked");
  std::uint64_t word = header.slot[slot].control.load(std::memory_order_acquire);
  for (;;) {
    Control control = Control::unpack(word);
    const bool ours =
        control.state == SlotState::published && control.sequence == sequence && (control.pending & bit) != 0;
    if (!ours) return Taken::none;  // taken back, or published before this reader came
    control.pending &= static_cast<std::uint16_t>(~bit);
    control.held |= bit;
    if (header.slot[slot].control.compare_exchange_weak(word, control.pack(), std::memory_order_seq_cst)) break;
  }
  failpoint("ring.reader.leased");
  lease.frame.owner = std::make_shared<HeldSlot>(memory_, reader_, slot, sequence);
  const FrameRecord record = copy_of(header.slot[slot].record);
  if (!is_possible(record, ring)) {
    lease = {};
    return Taken::broken;
  }
  lease.frame.view = view_of(record, memory_->pixels(slot), ring);
  lease.frame.metadata = record.metadata;
  lease.times = record.times;
  lease.ready = record.ready;
  lease.number = ring.base + sequence;
  lease.source_number = record.source_number;
  lease.slot = slot;
  lease.fill = record.fill;
  tell_writer(header);
  return Taken::frame;
}

void FrameRingReader::use_on(GpuStream stream, Lease& lease) {
  if (memory_->signals() == nullptr) throw Error("a frame ring that was opened for the CPU is used with a GPU");
  if (lease.ready != ReadySignal::immediate) memory_->signals()->wait(lease.slot, lease.fill, stream);
  std::static_pointer_cast<const HeldSlot>(lease.frame.owner)->used_on(stream);
}

bool FrameRingReader::release_waits() { return memory_->signals() == nullptr || memory_->signals()->release_waits(); }

// `timeout`: there is none now.
FrameRingReader::Next FrameRingReader::take_newer(std::uint32_t head, Lease& lease) {
  broken_ = broken_ || head - cursor_ > farthest_ahead;
  // What was overwritten in the index does not wait.
  if (head - cursor_ > ring::index_size) cursor_ = head - ring::index_size;
  while (!broken_ && cursor_ != head) {
    const Taken taken = take(++cursor_, lease);
    if (taken == Taken::frame) {
      ++taken_;
      return Next::frame;
    }
    broken_ = taken == Taken::broken;
  }
  // Its place is taken away from a reader that is gone, and from no other.
  broken_ = broken_ || memory_->header().readers[reader_].state.load(std::memory_order_acquire) != ReaderState::live;
  return broken_ ? Next::broken : Next::timeout;
}

// Checked in tests/model/frame_ring_resolved_model_test.cpp.
FrameRingReader::Next FrameRingReader::next(Lease& lease, Deadline deadline) {
  const ring::Header& header = memory_->header();
  for (;;) {
    const std::uint32_t news = header.news.load(std::memory_order_seq_cst);
    // Before head, and so is the writer's state: then head has all that these two are about.
    const std::uint64_t resolved = header.resolved.load(std::memory_order_seq_cst);
    const WriterState writer = header.writer.load(std::memory_order_seq_cst);
    const std::uint32_t head = header.head.load(std::memory_order_seq_cst);
    const Next next = take_newer(head, lease);
    if (next == Next::frame) resolved_ = std::max(resolved_, lease.source_number);
    if (next != Next::timeout) return next;
    if (writer != WriterState::open) {
      // The writer may have got further since it was looked at, and will get no further.
      resolved_ = std::max(resolved_, header.resolved.load(std::memory_order_seq_cst));
      return writer == WriterState::closed ? Next::ended : Next::writer_gone;
    }
    const bool is_further = resolved > resolved_;
    resolved_ = std::max(resolved_, resolved);
    if (Clock::now() >= deadline || is_further) return Next::timeout;
    wait_for_news(news, deadline);
  }
}

void FrameRingReader::wait_for_news(std::uint32_t news, Deadline deadline) {
  ring::Header& header = memory_->header();
  const Deadline spin_end = std::min(deadline, Clock::now() + spin_);
  do {
    if (header.news.load(std::memory_order_seq_cst) != news) return;
    spin_pause();
  } while (Clock::now() < spin_end);
  header.waiting_readers.fetch_or(1U << reader_, std::memory_order_seq_cst);
  failpoint("ring.reader.waiting");
  futex_wait(header.news, news, deadline);  // returns at once if there is news already
  header.waiting_readers.fetch_and(~(1U << reader_), std::memory_order_seq_cst);
}

std::optional<unsigned> FrameRingObserver::reserve(std::uint32_t except) {
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) {
    if ((except >> reader & 1) != 0) continue;
    ReaderState empty = ReaderState::empty;
    auto& state = memory_->header().readers[reader].state;
    if (state.compare_exchange_strong(empty, ReaderState::reserved, std::memory_order_seq_cst)) return reader;
  }
  return std::nullopt;
}

void FrameRingObserver::require(std::uint32_t seats) {
  memory_->header().required.store(seats, std::memory_order_seq_cst);
}

void FrameRingObserver::keep_together(std::uint32_t seats) {
  memory_->header().together.store(seats, std::memory_order_seq_cst);
}

SeatFrames FrameRingObserver::frames_of(unsigned reader) const {
  const ring::Header& header = memory_->header();
  const ring::Reader& seat = header.readers[reader];
  // A frame whose writer died before its head was stored was never seen by anybody.
  const std::uint32_t head = header.head.load(std::memory_order_acquire);
  const auto last = ring::SeatWord::unpack(seat.last.load(std::memory_order_acquire));
  const auto first = ring::SeatWord::unpack(seat.first.load(std::memory_order_acquire));
  const auto recalled = ring::SeatWord::unpack(seat.recalled.load(std::memory_order_acquire));
  const SeatFrames none{.tenure = std::max({last.tenure, first.tenure, recalled.tenure})};
  // Of two readers: the newer one had been given nothing when this began.
  if (last.tenure != first.tenure || last.tenure != recalled.tenure) return none;
  if (first.value == 0 || first.value > head || last.value < first.value) return none;
  return {first.value, std::min(last.value, head), recalled.value, last.tenure};
}

unsigned FrameRingObserver::pending_for(unsigned reader) const {
  const ring::Header& header = memory_->header();
  unsigned count = 0;
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot) {
    const Control control = Control::unpack(header.slot[slot].control.load(std::memory_order_relaxed));
    if (control.state == SlotState::published && (control.pending >> reader & 1) != 0) ++count;
  }
  return count;
}

ReaderState FrameRingObserver::reader_state(unsigned reader) const {
  return memory_->header().readers[reader].state.load(std::memory_order_acquire);
}

WriterState FrameRingObserver::writer_state() const { return memory_->header().writer.load(std::memory_order_acquire); }

void FrameRingObserver::mark_reader_gone(unsigned reader) {
  ring::Header& header = memory_->header();
  auto& state = header.readers[reader].state;
  ReaderState seen = state.load(std::memory_order_seq_cst);
  // The writer may empty it at the same time.
  while (seen != ReaderState::empty &&
         !state.compare_exchange_weak(seen, ReaderState::gone, std::memory_order_seq_cst)) {
  }
  header.room.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.room);
}

void FrameRingObserver::turn_out_strangers(std::uint32_t readers) {
  for (unsigned place = 0; place < max_ring_readers; ++place) {
    if ((readers >> place & 1) != 0) continue;
    const ReaderState state = reader_state(place);
    if (state != ReaderState::empty && state != ReaderState::gone) mark_reader_gone(place);
  }
}

void FrameRingObserver::mark_writer_gone() {
  ring::Header& header = memory_->header();
  if (header.writer.load(std::memory_order_seq_cst) != WriterState::closed)
    header.writer.store(WriterState::gone, std::memory_order_seq_cst);
  header.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.news);
}

std::uint64_t FrameRingObserver::published() const {
  const std::uint32_t head = memory_->header().head.load(std::memory_order_acquire);
  return memory_->description().base + std::min(head, ring::largest_sequence);
}

std::uint64_t FrameRingObserver::base() const { return memory_->description().base; }

std::optional<std::int64_t> FrameRingObserver::last_pts() const {
  const auto pts = of_newest(memory_->header(), memory_->header().pts);
  return pts && is_possible_time(*pts) ? pts : std::nullopt;
}

std::optional<std::int64_t> FrameRingObserver::last_packet() const {
  const auto packet = of_newest(memory_->header(), memory_->header().packet);
  return packet && *packet >= 0 ? packet : std::nullopt;
}

}  // namespace campipe
