#include <algorithm>

#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/futex.h"
#include "ipc/ready_signals.h"

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
      spdlog::error("a picture could not be given back behind the GPU's work: {}", error.what());
      if (error.kind == GpuError::Kind::broken) store_done();
    }
  }

  std::shared_ptr<FrameRingMemory> memory_;
  unsigned reader_;
  unsigned slot_;
  std::uint32_t sequence_;
  mutable std::optional<GpuStream> stream_;  // mutable: a lease is read-only for who has it, but not its way back
};

FrameView view_of(const FrameRecord& record, std::span<const std::uint8_t> pixels, const ring::Header& header) {
  const bool in_host_memory = header.memory == MemoryKind::host;
  FrameView view{record.format, {}, record.stride, header.memory, in_host_memory ? Device{} : header.device};
  for (int plane = 0; plane < plane_count(record.format.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    view.data[at] = pixels.data() + record.offset[at];
  }
  return view;
}

}  // namespace

FrameRingReader::FrameRingReader(std::shared_ptr<FrameRingMemory> memory, unsigned reader,
                                 std::chrono::nanoseconds spin)
    : memory_(std::move(memory)), reader_(reader), spin_(spin) {}

void FrameRingReader::attach(bool blocking, unsigned queue_size) {
  ring::Header& header = memory_->header();
  ring::Reader& self = header.readers[reader_];
  self.blocking.store(blocking ? 1 : 0, std::memory_order_relaxed);
  self.queue_size.store(queue_size, std::memory_order_relaxed);
  // The cursor first: a frame published in between is not for us, and one that is for us must lie after it.
  cursor_ = header.head.load(std::memory_order_seq_cst);
  failpoint("ring.reader.attaching");
  self.state.store(ReaderState::live, std::memory_order_seq_cst);
  failpoint("ring.reader.attached");
  tell_writer(header);
}

bool FrameRingReader::take(std::uint32_t sequence, Lease& lease) {
  ring::Header& header = memory_->header();
  const std::uint64_t entry = header.index[sequence % ring::index_size].load(std::memory_order_acquire);
  if (entry >> 32 != sequence) return false;  // lapped: it was taken back long ago
  const auto slot = static_cast<unsigned>(entry & 0xffffffff);
  const auto bit = static_cast<std::uint16_t>(1U << reader_);
  failpoint("ring.reader.looked");
  std::uint64_t word = header.slot[slot].control.load(std::memory_order_acquire);
  for (;;) {
    Control control = Control::unpack(word);
    const bool ours =
        control.state == SlotState::published && control.sequence == sequence && (control.pending & bit) != 0;
    if (!ours) return false;  // taken back, or published before this reader came
    control.pending &= static_cast<std::uint16_t>(~bit);
    control.held |= bit;
    if (header.slot[slot].control.compare_exchange_weak(word, control.pack(), std::memory_order_seq_cst)) break;
  }
  failpoint("ring.reader.leased");
  const FrameRecord& record = header.slot[slot].record;
  lease.picture.view = view_of(record, memory_->pixels(slot), header);
  lease.picture.owner = std::make_shared<HeldSlot>(memory_, reader_, slot, sequence);
  lease.times = record.times;
  lease.ready = record.ready;
  lease.number = header.base + sequence;
  lease.slot = slot;
  lease.fill = record.fill;
  tell_writer(header);
  return true;
}

void FrameRingReader::use_on(GpuStream stream, Lease& lease) {
  if (memory_->signals() == nullptr) throw Error("a frame ring that was opened for the CPU is used with a GPU");
  if (lease.ready != ReadySignal::immediate) memory_->signals()->wait(lease.slot, lease.fill, stream);
  std::static_pointer_cast<const HeldSlot>(lease.picture.owner)->used_on(stream);
}

bool FrameRingReader::release_waits() { return memory_->signals() == nullptr || memory_->signals()->release_waits(); }

FrameRingReader::Next FrameRingReader::next(Lease& lease, Deadline deadline) {
  ring::Header& header = memory_->header();
  for (;;) {
    const std::uint32_t news = header.news.load(std::memory_order_seq_cst);
    const WriterState writer = header.writer.load(std::memory_order_seq_cst);  // before head: then head is final
    const std::uint32_t head = header.head.load(std::memory_order_seq_cst);
    while (cursor_ != head) {
      if (take(++cursor_, lease)) return Next::frame;
    }
    if (writer == WriterState::closed) return Next::ended;
    if (writer == WriterState::gone) return Next::writer_gone;
    if (Clock::now() >= deadline) return Next::timeout;
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

std::optional<unsigned> FrameRingObserver::empty_reader() const {
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) {
    if (reader_state(reader) == ReaderState::empty) return reader;
  }
  return std::nullopt;
}

ReaderState FrameRingObserver::reader_state(unsigned reader) const {
  return memory_->header().readers[reader].state.load(std::memory_order_acquire);
}

WriterState FrameRingObserver::writer_state() const { return memory_->header().writer.load(std::memory_order_acquire); }

void FrameRingObserver::mark_reader_gone(unsigned reader) {
  ring::Header& header = memory_->header();
  auto expected = ReaderState::live;
  header.readers[reader].state.compare_exchange_strong(expected, ReaderState::gone, std::memory_order_seq_cst);
  header.room.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.room);
}

void FrameRingObserver::mark_writer_gone() {
  ring::Header& header = memory_->header();
  auto expected = WriterState::open;
  header.writer.compare_exchange_strong(expected, WriterState::gone, std::memory_order_seq_cst);
  header.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.news);
}

std::uint64_t FrameRingObserver::published() const {
  const ring::Header& header = memory_->header();
  return header.base + header.head.load(std::memory_order_acquire);
}

std::optional<std::int64_t> FrameRingObserver::last_pts() const {
  const ring::Header& header = memory_->header();
  const std::uint32_t head = header.head.load(std::memory_order_acquire);
  if (head == 0) return std::nullopt;
  return header.pts[head % ring::index_size].load(std::memory_order_acquire);
}

}  // namespace campipe
