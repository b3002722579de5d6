// How large a ring of a camera's packets is, on their way to whoever decodes them. It is written round and round, so
// all of it is in memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace campipe {

constexpr std::size_t least_packet_ring = std::size_t{1} << 20;  // the test pattern's packets are small

// It must hold a group of pictures, mostly, since whoever decodes it may have to begin anew. 0: the size is not known.
constexpr std::size_t packet_ring_capacity(std::uint64_t pixels) {
  constexpr std::size_t usual = std::size_t{8} << 20;
  constexpr std::size_t largest = std::size_t{64} << 20;
  constexpr std::uint64_t bytes_a_pixel = 4;  // some seconds of what a good camera sends
  if (pixels == 0) return usual;
  return std::clamp<std::size_t>(std::bit_ceil(bytes_a_pixel * std::min<std::uint64_t>(pixels, largest)),
                                 4 * least_packet_ring, largest);
}

}  // namespace campipe
