// Who is to blame for what lies in shared memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace campipe {

// What a process notes of who shares a ring with it: the supervisor ends and restarts those that wrote what
// cannot be.
// other_end: of an edge, its writer or its reader; of a camera's packets, who reads the camera or who decodes it.
enum class Accused : std::uint32_t { none = 0, source = 1, worker = 2, publisher = 4, other_end = 8 };
using Accusation = std::atomic<std::uint32_t>;
inline void accuse(Accusation& accusation, Accused whom) {
  accusation.fetch_or(static_cast<std::uint32_t>(whom), std::memory_order_relaxed);
}

}  // namespace campipe
