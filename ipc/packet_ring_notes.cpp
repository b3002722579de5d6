// What the reader of a packet ring tells its writer beside what it gives back. Nothing of the ring depends on it: a
// reader that writes what it likes there deceives nobody but whoever asks for it.
//
// A note is copied word by word. Its sequence is odd meanwhile, and another one afterwards, so that what was read while
// it was written is not taken for a note. A reader that died in the midst of it leaves an odd one, which its successor
// goes on from.
#include <algorithm>
#include <array>
#include <cstring>

#include "ipc/futex.h"
#include "ipc/packet_ring.h"
#include "ipc/packet_ring_layout.h"

namespace campipe {
namespace {

using Words = std::array<std::uint64_t, std::tuple_size_v<decltype(packet_ring::Note::words)>>;
static_assert(std::is_trivially_copyable_v<PacketRingNote>);

}  // namespace

bool PacketRingWriter::wait_until_taken(Deadline deadline, const std::function<bool()>& interrupted) {
  packet_ring::Header& header = memory_->header();
  const auto taken = [&] { return header.taken.load(std::memory_order_seq_cst) >= head_; };
  while (!taken() && Clock::now() < deadline && !interrupted()) {
    const std::uint32_t room = header.room.load(std::memory_order_seq_cst);
    header.writer_sleeps.store(1, std::memory_order_seq_cst);
    if (!taken()) futex_wait(header.room, room, std::min(deadline, Clock::now() + std::chrono::milliseconds(100)));
    header.writer_sleeps.store(0, std::memory_order_relaxed);
  }
  return taken();
}

std::optional<PacketRingNote> PacketRingWriter::note(unsigned place) const {
  const packet_ring::Note& from = memory_->header().note.at(place);
  const std::uint64_t before = from.sequence.load(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0) return std::nullopt;
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = from.words[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (from.sequence.load(std::memory_order_relaxed) != before) return std::nullopt;
  PacketRingNote note;
  std::memcpy(static_cast<void*>(&note), words.data(), sizeof note);
  return note.metadata.is_possible() ? std::optional(note) : std::nullopt;
}

void PacketRingReader::set_taken(std::uint64_t number) {
  packet_ring::Header& header = memory_->header();
  header.taken.store(number - memory_->base(), std::memory_order_seq_cst);
  if (header.writer_sleeps.load(std::memory_order_seq_cst) == 0) return;
  header.room.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.room);
}

std::uint64_t PacketRingReader::tried() const {
  const packet_ring::Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
  return memory_->base() + std::min(header.taken.load(std::memory_order_seq_cst) + 1, head);
}

void PacketRingReader::set_note(unsigned place, const PacketRingNote& note) {
  packet_ring::Note& to = memory_->header().note.at(place);
  Words words{};
  std::memcpy(words.data(), &note, sizeof note);
  const std::uint64_t writing = (to.sequence.load(std::memory_order_relaxed) + 1) | 1;
  to.sequence.store(writing, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i) to.words[i].store(words[i], std::memory_order_relaxed);
  to.sequence.store(writing + 1, std::memory_order_release);
}

}  // namespace campipe
