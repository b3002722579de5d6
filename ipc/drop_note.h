// Frames that are dropped before they come into a ring, counted once whatever dies.
//
// The newest drop is noted in one word, and then counted. Whoever goes on where a process died sees by the word whether
// the counter was reached, and which frame it was: it makes up for the counter, and does not count the frame again when
// the same packets are decoded once more. The ring's head says the same of frames that are published.
//
// A counter and its note have one writer at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "ipc/drop_counters.h"

namespace campipe {

struct EdgeWriterBlock;

// The low bits of each number: who compares knows about where they are.
struct DropNote {
  static constexpr unsigned packet_bits = 27;
  static constexpr unsigned cause_bits = 6;
  static constexpr unsigned count_bits = 15;
  static constexpr std::uint64_t most_reordered = 64;  // packets
  static constexpr std::uint64_t low(std::uint64_t number, unsigned bits) {
    return number & ((std::uint64_t{1} << bits) - 1);
  }

  std::uint64_t packet = 0;     // that the frame came in
  std::uint64_t cause = 0;      // DropCause
  std::uint64_t count = 0;      // frames dropped for that cause, with this one
  std::uint64_t published = 0;  // frames that came into the ring before it

  [[nodiscard]] constexpr std::uint64_t pack() const {
    std::uint64_t word = 1;  // 0 is no note
    word = word << packet_bits | low(packet, packet_bits);
    word = word << cause_bits | low(cause, cause_bits);
    word = word << count_bits | low(count, count_bits);
    return word << count_bits | low(published, count_bits);
  }
  static constexpr DropNote unpack(std::uint64_t word) {
    DropNote note;
    note.published = low(word, count_bits);
    note.count = low(word >>= count_bits, count_bits);
    note.cause = low(word >>= count_bits, cause_bits);
    note.packet = low(word >> cause_bits, packet_bits);
    return note;
  }
  [[nodiscard]] constexpr bool is_of(std::uint64_t other) const { return packet == low(other, packet_bits); }
  [[nodiscard]] constexpr bool is_before(std::uint64_t other) const {
    const std::uint64_t distance = low(other - packet, packet_bits);
    return distance > 0 && distance < std::uint64_t{1} << (packet_bits - 1);
  }
  // The frame of that packet is behind this one in any order of showing.
  [[nodiscard]] constexpr bool is_far_before(std::uint64_t other) const {
    const std::uint64_t distance = low(other - packet, packet_bits);
    return distance > most_reordered && distance < std::uint64_t{1} << (packet_bits - 1);
  }
};
static_assert(max_drop_causes <= std::uint64_t{1} << DropNote::cause_bits);
static_assert(1 + DropNote::packet_bits + DropNote::cause_bits + 2 * DropNote::count_bits == 64);

// `published`: frames so far, over all epochs.
void count_drop(EdgeWriterBlock& edge, DropCause cause, std::uint64_t packet, std::uint64_t published);
// Where a process died: counts the drop that it noted, if it did not come to that. Returns the note of a frame that was
// dropped behind the newest published one.
std::optional<DropNote> settle_drop(EdgeWriterBlock& edge, std::uint64_t published);

}  // namespace campipe
