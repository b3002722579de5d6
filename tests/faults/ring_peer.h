// What a test of deaths and its peers (processes of ring_peer.cpp) agree on: how a peer is started, and the journal in
// which it notes all that was delivered to it, in memory that outlives it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ipc/shared_memory.h"

namespace campipe::test {

inline constexpr int channel_fd = 3;  // of a peer
inline constexpr int journal_fd = 4;

inline constexpr unsigned ring_slots = 24;
inline constexpr std::size_t packet_capacity = 40'000;
inline constexpr std::size_t largest_packet = 3'000;

inline std::size_t packet_size(std::uint64_t number) { return 1 + number * 7919 % largest_packet; }

enum class JournalEnd : std::uint32_t { none, ended, writer_gone };

struct Journal {
  static constexpr std::size_t capacity = 1 << 16;
  struct Entry {
    std::uint64_t number;
    std::int64_t at;     // monotonic ns, when it was delivered
    std::uint32_t torn;  // 1: it was not, or did not stay, what its writer wrote
  };

  std::atomic<std::uint64_t> count;  // entries that are complete
  std::atomic<std::int64_t> ended_at;
  std::atomic<JournalEnd> end;           // how the newest ring ended
  std::atomic<std::uint32_t> rings;      // that ended
  std::atomic<std::uint64_t> releasing;  // packets: about to be released through this one
  std::atomic<std::uint64_t> released;   // packets: that is done
  std::atomic<std::uint64_t> given_up;   // packets, for want of room
  std::array<Entry, capacity> entry;
};

}  // namespace campipe::test
