#include <algorithm>

#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/futex.h"
#include "ipc/ready_signals.h"

namespace campipe {
namespace {

using ring::Control;
using ring::SlotState;

constexpr auto longest_sleep = std::chrono::milliseconds(100);  // interrupts are asked at least this often

// Takes bits out of a control word that readers change at the same time.
void clear_bits(std::atomic<std::uint64_t>& word, std::uint16_t held, std::uint16_t pending) {
  std::uint64_t seen = word.load(std::memory_order_acquire);
  for (;;) {
    Control control = Control::unpack(seen);
    control.held &= static_cast<std::uint16_t>(~held);
    control.pending &= static_cast<std::uint16_t>(~pending);
    if (word.compare_exchange_weak(seen, control.pack(), std::memory_order_acq_rel)) return;
  }
}

}  // namespace

FrameRingWriter::FrameRingWriter(std::shared_ptr<FrameRingMemory> memory) : memory_(std::move(memory)) {}

std::optional<FrameRingWriter::Slot> FrameRingWriter::claim() {
  const std::lock_guard lock(mutex_);
  ring::Header& header = memory_->header();
  for (unsigned slot = 0; slot < header.slots; ++slot) {
    if (!claimable(slot)) continue;
    Control control = Control::unpack(header.slot[slot].control.load(std::memory_order_acquire));
    control.state = SlotState::writing;
    header.slot[slot].control.store(control.pack(), std::memory_order_release);
    pinned_[slot] = true;
    fill_[slot] = 0;
    failpoint("ring.writer.claimed");
    return Slot{slot, memory_->pixels(slot)};
  }
  return std::nullopt;
}

bool FrameRingWriter::claimable(unsigned slot) {
  if (pinned_[slot]) return false;
  harvest(slot);
  const Control control = Control::unpack(memory_->header().slot[slot].control.load(std::memory_order_acquire));
  const bool let_go = control.state == SlotState::free ||
                      (control.state == SlotState::published && control.held == 0 && control.pending == 0);
  return let_go && (memory_->signals() == nullptr || memory_->signals()->complete(slot));
}

void FrameRingWriter::filled(unsigned slot, GpuStream stream) {
  if (memory_->signals() == nullptr) throw Error("a GPU fills a frame ring that was not made for one");
  const std::lock_guard lock(mutex_);
  fill_[slot] = memory_->signals()->record(slot, stream);
}

void FrameRingWriter::unpin(unsigned slot) {
  const std::lock_guard lock(mutex_);
  pinned_[slot] = false;
  auto& word = memory_->header().slot[slot].control;
  Control control = Control::unpack(word.load(std::memory_order_acquire));
  if (control.state != SlotState::writing) return;
  control.state = SlotState::free;
  word.store(control.pack(), std::memory_order_release);
}

bool FrameRingWriter::unpublished(unsigned slot) const {
  const auto word = memory_->header().slot[slot].control.load(std::memory_order_acquire);
  return Control::unpack(word).state == SlotState::writing;
}

void FrameRingWriter::harvest(unsigned slot) {
  ring::Header& header = memory_->header();
  const Control control = Control::unpack(header.slot[slot].control.load(std::memory_order_acquire));
  for (unsigned reader = 0; control.held >> reader != 0; ++reader) {
    const auto bit = static_cast<std::uint16_t>(1U << reader);
    if ((control.held & bit) == 0) continue;
    if (header.done[reader][slot].load(std::memory_order_acquire) != control.sequence) continue;
    clear_bits(header.slot[slot].control, bit, 0);
  }
}

std::uint32_t FrameRingWriter::live_mask() const {
  std::uint32_t mask = 0;
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) {
    if (memory_->header().readers[reader].state.load(std::memory_order_seq_cst) == ReaderState::live)
      mask |= 1U << reader;
  }
  return mask;
}

bool FrameRingWriter::exhausted() const {
  return memory_->header().head.load(std::memory_order_relaxed) >= memory_->header().last_sequence;
}

unsigned FrameRingWriter::pending_count(unsigned reader) const {
  const ring::Header& header = memory_->header();
  unsigned count = 0;
  for (unsigned slot = 0; slot < header.slots; ++slot) {
    const Control control = Control::unpack(header.slot[slot].control.load(std::memory_order_seq_cst));
    count += control.state == SlotState::published && (control.pending >> reader & 1) != 0 ? 1 : 0;
  }
  return count;
}

bool FrameRingWriter::has_room(Readers readers) const {
  const ring::Header& header = memory_->header();
  const std::uint32_t live = live_mask();
  for (unsigned reader = 0; live >> reader != 0; ++reader) {
    if ((live >> reader & 1) == 0) continue;
    const bool blocking = header.readers[reader].blocking.load(std::memory_order_acquire) != 0;
    if (!blocking && readers == Readers::blocking) continue;
    const unsigned limit = std::max(header.readers[reader].queue_size.load(std::memory_order_acquire), 1U);
    if (pending_count(reader) >= limit) return false;
  }
  return true;
}

unsigned FrameRingWriter::recall_oldest(unsigned reader) {
  ring::Header& header = memory_->header();
  const auto bit = static_cast<std::uint16_t>(1U << reader);
  std::atomic<std::uint64_t>* oldest = nullptr;
  std::uint64_t expected = 0;
  for (unsigned slot = 0; slot < header.slots; ++slot) {
    const std::uint64_t word = header.slot[slot].control.load(std::memory_order_acquire);
    const Control control = Control::unpack(word);
    if (control.state != SlotState::published || (control.pending & bit) == 0) continue;
    if (oldest != nullptr && Control::unpack(expected).sequence < control.sequence) continue;
    oldest = &header.slot[slot].control;
    expected = word;
  }
  if (oldest == nullptr) return 0;
  Control control = Control::unpack(expected);
  control.pending &= static_cast<std::uint16_t>(~bit);
  // A reader that takes the frame at this moment wins; the caller counts again.
  return oldest->compare_exchange_strong(expected, control.pack(), std::memory_order_acq_rel) ? 1 : 0;
}

FrameRingWriter::Published FrameRingWriter::publish(unsigned slot, const FrameRecord& record, unsigned& recalled) {
  const std::lock_guard lock(mutex_);
  service_locked();
  ring::Header& header = memory_->header();
  const std::uint32_t live = live_mask();
  recalled = 0;
  if (live == 0) return Published::no_reader;
  for (unsigned reader = 0; live >> reader != 0; ++reader) {
    if ((live >> reader & 1) == 0) continue;
    const unsigned limit = std::max(header.readers[reader].queue_size.load(std::memory_order_acquire), 1U);
    while (pending_count(reader) >= limit) recalled += recall_oldest(reader);
  }
  const std::uint32_t sequence = header.head.load(std::memory_order_relaxed) + 1;
  header.slot[slot].record = record;
  header.slot[slot].record.ready = fill_[slot] == 0 ? ReadySignal::immediate : header.ready;
  header.slot[slot].record.fill = fill_[slot];
  failpoint("ring.writer.filled");
  const Control control{sequence, SlotState::published, 0, static_cast<std::uint16_t>(live)};
  header.slot[slot].control.store(control.pack(), std::memory_order_release);
  failpoint("ring.writer.published");
  header.pts[sequence % ring::index_size].store(record.times.pts, std::memory_order_release);
  header.index[sequence % ring::index_size].store(std::uint64_t{sequence} << 32 | slot, std::memory_order_release);
  failpoint("ring.writer.indexed");
  header.head.store(sequence, std::memory_order_seq_cst);
  failpoint("ring.writer.head");
  header.news.fetch_add(1, std::memory_order_seq_cst);
  if (header.waiting_readers.load(std::memory_order_seq_cst) != 0) futex_wake_all(header.news);
  return Published::yes;
}

void FrameRingWriter::service() {
  const std::lock_guard lock(mutex_);
  service_locked();
}

void FrameRingWriter::service_locked() {
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) {
    if (memory_->header().readers[reader].state.load(std::memory_order_acquire) == ReaderState::gone) reclaim(reader);
  }
}

void FrameRingWriter::reclaim(unsigned reader) {
  ring::Header& header = memory_->header();
  const auto bit = static_cast<std::uint16_t>(1U << reader);
  for (unsigned slot = 0; slot < header.slots; ++slot) {
    clear_bits(header.slot[slot].control, bit, bit);
    header.done[reader][slot].store(0, std::memory_order_relaxed);
    failpoint("ring.writer.reclaiming");
  }
  header.waiting_readers.fetch_and(~(1U << reader), std::memory_order_seq_cst);
  header.readers[reader].state.store(ReaderState::empty, std::memory_order_release);
}

// Sleeps once, unless `satisfied` already.
void FrameRingWriter::nap(Deadline deadline, ring::WriterSleep reason, const std::function<bool()>& satisfied) {
  ring::Header& header = memory_->header();
  const std::uint32_t room = header.room.load(std::memory_order_seq_cst);
  header.writer_sleep.store(reason, std::memory_order_seq_cst);
  if (!satisfied()) futex_wait(header.room, room, std::min(deadline, Clock::now() + longest_sleep));
  header.writer_sleep.store(ring::WriterSleep::awake, std::memory_order_relaxed);
  service();
}

bool FrameRingWriter::wait_for(const std::function<bool()>& satisfied, Deadline deadline,
                               const std::function<bool()>& interrupted) {
  service();
  while (!satisfied()) {
    if (Clock::now() >= deadline || interrupted()) return false;
    nap(deadline, ring::WriterSleep::for_room, satisfied);
  }
  return true;
}

bool FrameRingWriter::wait_for_reader(Deadline deadline, const std::function<bool()>& interrupted) {
  return wait_for([this] { return live_mask() != 0; }, deadline, interrupted);
}

bool FrameRingWriter::wait_for_room(Deadline deadline, const std::function<bool()>& interrupted, Readers readers) {
  return wait_for([this, readers] { return has_room(readers); }, deadline, interrupted);
}

void FrameRingWriter::sleep_until(Deadline deadline, const std::function<bool()>& interrupted) {
  service();
  while (Clock::now() < deadline && !interrupted()) {
    nap(deadline, ring::WriterSleep::for_time, [] { return false; });
  }
}

void FrameRingWriter::close() {
  ring::Header& header = memory_->header();
  header.writer.store(WriterState::closed, std::memory_order_seq_cst);
  header.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.news);
}

bool FrameRingWriter::drained() {
  const std::lock_guard lock(mutex_);
  service_locked();
  const ring::Header& header = memory_->header();
  for (unsigned slot = 0; slot < header.slots; ++slot) {
    harvest(slot);
    const Control control = Control::unpack(header.slot[slot].control.load(std::memory_order_acquire));
    if (control.held != 0 || control.pending != 0) return false;
  }
  return true;
}

}  // namespace campipe
