// How much of etcd is read: other versions write to it, and people do by hand. What is more, or cannot be, is
// unreadable by itself; nothing else is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/clock.h"

namespace campipe {

inline constexpr std::size_t longest_etcd_key = 512;    // its names have 64 bytes at most
inline constexpr std::size_t longest_etcd_text = 1024;  // within a value
inline constexpr std::size_t largest_assignment = 16'384;
// Generations are counted up by one.
inline constexpr std::uint64_t highest_generation = std::uint64_t{1} << 62U;

// Epochs are counted up by one, or are the time in seconds since 1970, of a clock that may be ahead of this one's.
inline std::uint64_t highest_epoch() {
  constexpr std::uint64_t day = 24 * 3600;
  return static_cast<std::uint64_t>(utc_now_ns() / 1'000'000'000) + day;
}

}  // namespace campipe
