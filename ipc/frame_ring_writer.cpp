#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/futex.h"
#include "ipc/ready_signals.h"

namespace campipe {
namespace {

using ring::Control;
using ring::SlotState;

// Readers take a frame each at most, so that a compare-exchange fails that often. One that makes it fail for ever is
// not waited for.
constexpr int most_attempts = 1000;

}  // namespace

FrameRingWriter::FrameRingWriter(std::shared_ptr<FrameRingMemory> memory) : memory_(std::move(memory)) {}

// A slot's control word, of which readers only change what they hold and await. The rest is put right.
Control FrameRingWriter::look(unsigned slot) {
  auto& word = memory_->header().slot[slot].control;
  const OwnSlot& own = own_[slot];
  std::uint64_t seen = word.load(std::memory_order_acquire);
  for (int attempt = 0;; ++attempt) {
    const Control control = Control::unpack(seen);
    const Control right{own.sequence, own.state, static_cast<std::uint16_t>(control.held & own.readers),
                        static_cast<std::uint16_t>(control.pending & own.readers)};
    if (right.pack() == seen) return right;
    if (attempt == 0) on_faulty_reader_();
    const bool put_right = word.compare_exchange_weak(seen, right.pack(), std::memory_order_acq_rel);
    if (put_right || attempt == most_attempts) return right;
  }
}

// Takes bits out of a control word that readers change at the same time.
void FrameRingWriter::let_go(unsigned slot, std::uint16_t held, std::uint16_t pending) {
  auto& word = memory_->header().slot[slot].control;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    Control control = look(slot);
    std::uint64_t seen = control.pack();
    control.held &= static_cast<std::uint16_t>(~held);
    control.pending &= static_cast<std::uint16_t>(~pending);
    if (!word.compare_exchange_weak(seen, control.pack(), std::memory_order_acq_rel)) continue;
    own_[slot].readers = control.held | control.pending;
    return;
  }
}

// What no reader may write is as the writer left it.
void FrameRingWriter::audit() {
  ring::Header& header = memory_->header();
  // The bytes, also between members: all were copied.
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  bool right = std::memcmp(&header.description, &memory_->description(), sizeof header.description) == 0;
  right = right && header.head.load(std::memory_order_relaxed) == head_;
  right = right && header.resolved.load(std::memory_order_relaxed) == resolved_;
  const WriterState state = closed_ ? WriterState::closed : WriterState::open;
  right = right && header.writer.load(std::memory_order_relaxed) == state;
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot) look(slot);
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) {
    const ring::Reader& seat = header.readers[reader];
    const SeatFrames& frames = settings_[reader].frames;
    right = right && seat.state.load(std::memory_order_relaxed) <= ReaderState::gone;
    const auto is = [&](const std::atomic<std::uint64_t>& word, std::uint32_t value) {
      return word.load(std::memory_order_relaxed) == ring::SeatWord{frames.tenure, value}.pack();
    };
    right = right && is(seat.first, frames.first) && is(seat.recalled, frames.recalled) && is(seat.last, frames.last);
  }
  if (right) return;
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) record_seat(reader);
  std::memcpy(&header.description, &memory_->description(), sizeof header.description);
  header.head.store(head_, std::memory_order_seq_cst);
  header.resolved.store(resolved_, std::memory_order_seq_cst);
  header.writer.store(state, std::memory_order_seq_cst);
  on_faulty_reader_();
}

std::optional<FrameRingWriter::Slot> FrameRingWriter::claim() {
  const std::lock_guard lock(mutex_);
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot) {
    if (!claimable(slot)) continue;
    own_[slot].state = SlotState::writing;
    own_[slot].readers = 0;
    const Control control{own_[slot].sequence, SlotState::writing, 0, 0};
    memory_->header().slot[slot].control.store(control.pack(), std::memory_order_release);
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
  const Control control = look(slot);
  const bool let_go = control.state == SlotState::free ||
                      (control.state == SlotState::published && control.held == 0 && control.pending == 0);
  return let_go && (memory_->signals() == nullptr || memory_->signals()->complete(slot));
}

void FrameRingWriter::filled(unsigned slot, GpuStream stream) {
  if (memory_->signals() == nullptr || memory_->description().ready == ReadySignal::immediate)
    throw Error("a GPU fills a frame ring that was not made for one");
  const std::lock_guard lock(mutex_);
  fill_[slot] = memory_->signals()->record(slot, stream);
}

void FrameRingWriter::unpin(unsigned slot) {
  const std::lock_guard lock(mutex_);
  pinned_[slot] = false;
  if (own_[slot].state != SlotState::writing) return;
  own_[slot].state = SlotState::free;
  const Control control{own_[slot].sequence, SlotState::free, 0, 0};
  memory_->header().slot[slot].control.store(control.pack(), std::memory_order_release);
}

bool FrameRingWriter::unpublished(unsigned slot) const {
  const std::lock_guard lock(mutex_);
  return own_[slot].state == SlotState::writing;
}

void FrameRingWriter::harvest(unsigned slot) {
  ring::Header& header = memory_->header();
  const Control control = look(slot);
  for (unsigned reader = 0; control.held >> reader != 0; ++reader) {
    const auto bit = static_cast<std::uint16_t>(1U << reader);
    if ((control.held & bit) == 0) continue;
    if (header.done[reader][slot].load(std::memory_order_acquire) != control.sequence) continue;
    let_go(slot, bit, 0);
  }
}

std::uint32_t FrameRingWriter::live_mask() {
  std::uint32_t mask = 0;
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) {
    const ring::Reader& place = memory_->header().readers[reader];
    Settings& settings = settings_[reader];
    const bool live = place.state.load(std::memory_order_seq_cst) == ReaderState::live;
    if (live) mask |= 1U << reader;
    if (live && !settings.live) {
      settings.frames = {.tenure = settings.frames.tenure + 1};
      record_seat(reader);
      const unsigned size = place.queue_size.load(std::memory_order_acquire);
      settings.queue_size = std::clamp(size, 1U, memory_->description().slots);
    }
    settings.live = live;
  }
  return mask;
}

void FrameRingWriter::record_seat(unsigned reader) {
  ring::Reader& seat = memory_->header().readers[reader];
  const SeatFrames& frames = settings_[reader].frames;
  const auto word = [&](std::uint32_t value) { return ring::SeatWord{frames.tenure, value}.pack(); };
  seat.first.store(word(frames.first), std::memory_order_release);
  seat.recalled.store(word(frames.recalled), std::memory_order_release);
  seat.last.store(word(frames.last), std::memory_order_release);
}

bool FrameRingWriter::exhausted() const { return head_ >= memory_->description().last_sequence; }

unsigned FrameRingWriter::pending_count(unsigned reader) const {
  const ring::Header& header = memory_->header();
  unsigned count = 0;
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot) {
    const Control control = Control::unpack(header.slot[slot].control.load(std::memory_order_seq_cst));
    const unsigned pending = control.pending & own_[slot].readers;
    count += own_[slot].state == SlotState::published && (pending >> reader & 1) != 0 ? 1 : 0;
  }
  return count;
}

bool FrameRingWriter::has_readers() {
  const std::lock_guard lock(mutex_);
  const std::uint32_t live = live_mask();
  const ring::Header& header = memory_->header();
  const std::uint32_t required =
      header.required.load(std::memory_order_seq_cst) | header.together.load(std::memory_order_seq_cst);
  constexpr std::uint32_t seats = (1U << max_ring_readers) - 1;
  return live != 0 && (required & seats & ~live) == 0;
}

bool FrameRingWriter::has_room(Readers readers) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t live = live_mask();
  for (unsigned reader = 0; live >> reader != 0; ++reader) {
    if ((live >> reader & 1) == 0) continue;
    const auto wait = memory_->header().readers[reader].wait.load(std::memory_order_seq_cst);
    if (wait == ring::ReaderWait::never) continue;
    if (wait != ring::ReaderWait::always && readers == Readers::blocking) continue;
    if (pending_count(reader) >= settings_[reader].queue_size) return false;
  }
  return true;
}

// Readers that need the same frames, or none, get work for nothing from one that only some of them have taken: so a
// younger one goes, that none of them has. Where there is none, what one of them loses is of no use to the others
// either.
void FrameRingWriter::recall_oldest(unsigned reader) {
  const auto itself = static_cast<std::uint16_t>(1U << reader);
  const std::uint16_t together = recalled_with(reader);
  if (together != 0 && recall_oldest(together, together)) return;
  recall_oldest(itself, together | itself);
}

// All that live of those that the reader is kept together with, itself included; none: it is on its own.
std::uint16_t FrameRingWriter::recalled_with(unsigned reader) {
  const std::uint32_t together = memory_->header().together.load(std::memory_order_relaxed);
  if ((together >> reader & 1) == 0) return 0;
  std::uint16_t readers = 0;
  for (unsigned other = 0; other < max_ring_readers; ++other) {
    if ((together >> other & 1) != 0 && settings_[other].live) readers |= static_cast<std::uint16_t>(1U << other);
  }
  return readers;
}

// Of the frames that are pending for all of `readers` the oldest, from those of `back` for which it is. False: there is
// none.
bool FrameRingWriter::recall_oldest(std::uint16_t readers, std::uint16_t back) {
  std::optional<unsigned> oldest;
  Control control;
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot) {
    const Control seen = look(slot);
    if (seen.state != SlotState::published || (seen.pending & readers) != readers) continue;
    if (oldest && control.sequence < seen.sequence) continue;
    oldest = slot;
    control = seen;
  }
  if (!oldest) return false;
  std::uint64_t expected = control.pack();
  const auto from = static_cast<std::uint16_t>(control.pending & back);
  control.pending &= static_cast<std::uint16_t>(~back);
  // A reader that takes the frame at this moment wins; the caller counts again.
  auto& word = memory_->header().slot[*oldest].control;
  if (!word.compare_exchange_strong(expected, control.pack(), std::memory_order_acq_rel)) return true;
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) {
    if ((from >> reader & 1) == 0) continue;
    ++settings_[reader].frames.recalled;
    record_seat(reader);
  }
  return true;
}

FrameRingWriter::Published FrameRingWriter::publish(unsigned slot, const FrameRecord& record) {
  const std::lock_guard lock(mutex_);
  service_locked();
  ring::Header& header = memory_->header();
  const std::uint32_t live = live_mask();
  if (live == 0) return Published::no_reader;
  for (unsigned reader = 0; live >> reader != 0; ++reader) {
    if ((live >> reader & 1) == 0) continue;
    for (int attempt = 0; attempt < most_attempts && pending_count(reader) >= settings_[reader].queue_size; ++attempt)
      recall_oldest(reader);
  }
  const std::uint32_t sequence = head_ + 1;
  header.slot[slot].record = record;
  header.slot[slot].record.ready = fill_[slot] == 0 ? ReadySignal::immediate : memory_->description().ready;
  header.slot[slot].record.fill = fill_[slot];
  for (unsigned reader = 0; live >> reader != 0; ++reader) {
    if ((live >> reader & 1) == 0) continue;
    SeatFrames& frames = settings_[reader].frames;
    if (frames.first == 0) frames.first = sequence;
    frames.last = sequence;
    record_seat(reader);
  }
  failpoint("ring.writer.filled");
  const Control control{sequence, SlotState::published, 0, static_cast<std::uint16_t>(live)};
  own_[slot] = {sequence, SlotState::published, static_cast<std::uint16_t>(live)};
  header.slot[slot].control.store(control.pack(), std::memory_order_release);
  failpoint("ring.writer.published");
  header.pts[sequence % ring::index_size].store(record.times.pts, std::memory_order_release);
  header.packet[sequence % ring::index_size].store(record.packet, std::memory_order_release);
  header.index[sequence % ring::index_size].store(std::uint64_t{sequence} << 32 | slot, std::memory_order_release);
  failpoint("ring.writer.indexed");
  head_ = sequence;
  header.head.store(sequence, std::memory_order_seq_cst);
  failpoint("ring.writer.head");
  resolved_ = std::max(resolved_, record.source_number);
  header.resolved.store(resolved_, std::memory_order_seq_cst);
  header.news.fetch_add(1, std::memory_order_seq_cst);
  if (header.waiting_readers.load(std::memory_order_seq_cst) != 0) futex_wake_all(header.news);
  return Published::yes;
}

// Behind the frame itself, if that was published: a reader that sees this sees the frame.
void FrameRingWriter::resolve(std::uint64_t source_number) {
  ring::Header& header = memory_->header();
  {
    const std::lock_guard lock(mutex_);
    if (source_number <= resolved_) return;
    resolved_ = source_number;
    header.resolved.store(resolved_, std::memory_order_seq_cst);
  }
  header.news.fetch_add(1, std::memory_order_seq_cst);
  if (header.waiting_readers.load(std::memory_order_seq_cst) != 0) futex_wake_all(header.news);
}

void FrameRingWriter::service() {
  const std::lock_guard lock(mutex_);
  service_locked();
}

void FrameRingWriter::service_locked() {
  audit();
  for (unsigned reader = 0; reader < max_ring_readers; ++reader) {
    const ReaderState state = memory_->header().readers[reader].state.load(std::memory_order_acquire);
    if (state == ReaderState::gone) reclaim(reader);
    if (state == ReaderState::leaving) see_off(reader);
  }
}

void FrameRingWriter::reclaim(unsigned reader) {
  ring::Header& header = memory_->header();
  const auto bit = static_cast<std::uint16_t>(1U << reader);
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot) {
    let_go(slot, bit, bit);
    failpoint("ring.writer.reclaiming");
  }
  forget_seat(reader);
  header.readers[reader].state.store(ReaderState::empty, std::memory_order_release);
}

// The seat of a reader that leaves gets empty once it has given back all that it holds: it takes nothing any more.
void FrameRingWriter::see_off(unsigned reader) {
  const auto bit = static_cast<std::uint16_t>(1U << reader);
  bool left = true;
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot) {
    harvest(slot);
    const Control control = look(slot);
    if ((control.pending & bit) != 0) {
      let_go(slot, 0, bit);
      ++settings_[reader].frames.recalled;
      record_seat(reader);
    }
    left = left && (control.held & bit) == 0;
    failpoint("ring.writer.seeing_off");
  }
  if (!left) return;
  forget_seat(reader);
  ReaderState leaving = ReaderState::leaving;  // it may have died meanwhile
  memory_->header().readers[reader].state.compare_exchange_strong(leaving, ReaderState::empty,
                                                                  std::memory_order_acq_rel);
}

// Of whoever had it, before its successor can come, which may be before the next frame.
void FrameRingWriter::forget_seat(unsigned reader) {
  settings_[reader].live = false;
  ring::Header& header = memory_->header();
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot)
    header.done[reader][slot].store(0, std::memory_order_relaxed);
  header.waiting_readers.fetch_and(~(1U << reader), std::memory_order_seq_cst);
}

void FrameRingWriter::close() {
  ring::Header& header = memory_->header();
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    header.writer.store(WriterState::closed, std::memory_order_seq_cst);
  }
  header.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.news);
}

bool FrameRingWriter::drained() {
  const std::lock_guard lock(mutex_);
  service_locked();
  for (unsigned slot = 0; slot < memory_->description().slots; ++slot) {
    harvest(slot);
    const Control control = look(slot);
    if (control.held != 0 || control.pending != 0) return false;
  }
  return true;
}

}  // namespace campipe
