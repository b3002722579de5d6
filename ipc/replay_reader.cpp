#include "ipc/replay_reader.h"

#include <algorithm>
#include <utility>

namespace campipe {

ReplayReader::ReplayReader(std::shared_ptr<PacketRingMemory> memory)
    : reader_(std::move(memory), PacketRingReader::WhenFull::reports), newest_(reader_.released()) {}

ReplayReader::Next ReplayReader::next(PacketView& packet, std::uint64_t& number, Deadline deadline) {
  for (;;) {
    const Next next = reader_.next(packet, number, deadline);
    if (next == Next::packet) {
      newest_ = number;
      if (packet.key) keys_.push_back(number);
    }
    if (next != Next::full) return next;
    give_up();
  }
}

void ReplayReader::shown(std::uint64_t number) {
  if (std::ranges::binary_search(keys_, number)) release_through(number - 1);
}

void ReplayReader::all_shown() { release_through(newest_); }

// As little as can be: what lies before the next key frame. From there a successor misses only frames that have not
// come out of the decoder yet.
void ReplayReader::give_up() {
  const std::uint64_t before = reader_.released();
  const auto next_key = std::ranges::upper_bound(keys_, before + 1);
  release_through(next_key != keys_.end() ? *next_key - 1 : newest_);
  given_up_ += reader_.released() - before;
}

void ReplayReader::release_through(std::uint64_t number) {
  reader_.release_through(number);
  while (!keys_.empty() && keys_.front() <= number) keys_.pop_front();
}

}  // namespace campipe
