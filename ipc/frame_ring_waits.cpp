// What a frame ring's writer waits for: readers, room, and time. It serves its readers meanwhile.
#include <algorithm>

#include "ipc/frame_ring_layout.h"
#include "ipc/futex.h"

namespace campipe {
namespace {

constexpr auto longest_sleep = std::chrono::milliseconds(100);  // interrupts are asked at least this often

}  // namespace

std::optional<FrameRingWriter::Slot> FrameRingWriter::claim_by(Deadline deadline,
                                                               const std::function<bool()>& interrupted) {
  std::optional<Slot> slot;
  const auto claimed = [&] {
    if (!slot) slot = claim();
    return slot.has_value();
  };
  wait_for(claimed, deadline, interrupted);
  return slot;
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
  return wait_for([this] { return has_readers(); }, deadline, interrupted);
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

}  // namespace campipe
