// How many frames were dropped for each DropCause (ipc/drop_causes.h), in a block of the rig page.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace campipe {

enum class DropCause : std::uint8_t;

// More than there are, so that a new one changes no block of the rig page.
inline constexpr std::size_t max_drop_causes = 32;

using DropCounters = std::array<std::atomic<std::uint64_t>, max_drop_causes>;

inline std::atomic<std::uint64_t>& counter(DropCounters& counters, DropCause cause) {
  return counters[static_cast<std::size_t>(cause)];
}

}  // namespace campipe
