// Where things are in MP4 that LiveMuxer made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stages/sinks/producer_time.h"

namespace campipe {

// The contents of the box `name`, from there to the end of `bytes`; empty: there is none, or fewer than `least` bytes
// of it. The MP4 is ours, so that nothing else in it reads like the name.
template <typename Byte>
std::span<Byte> contents_of(std::span<Byte> bytes, std::string_view name, std::size_t least) {
  const auto found = std::search(bytes.begin(), bytes.end(), name.begin(), name.end());
  const std::span<Byte> after(found, bytes.end());
  const std::span<Byte> rest = after.subspan(std::min(name.size(), after.size()));
  return rest.size() < least ? std::span<Byte>() : rest;
}

// How long the box `prft` is that a fragment may begin with: the numbers in it may read like any name.
template <typename Byte>
std::size_t producer_time_of(std::span<Byte> fragment) {
  constexpr std::string_view name = "prft";
  constexpr std::size_t at = 4;
  const bool is_there = fragment.size() >= producer_time_size &&
                        std::equal(name.begin(), name.end(), fragment.begin() + static_cast<std::ptrdiff_t>(at));
  return is_there ? producer_time_size : 0;
}

// The 64 bits of a fragment's time (in its tfdt box, ISO/IEC 14496-12); empty: there are none.
inline std::span<std::uint8_t> time_of_fragment(std::span<std::uint8_t> fragment) {
  constexpr std::size_t flags = 4;  // and the version before them
  const auto box = contents_of(fragment.subspan(producer_time_of(fragment)), "tfdt", flags + sizeof(std::uint64_t));
  const bool is_long = !box.empty() && box[0] == 1;
  return is_long ? box.subspan(flags, sizeof(std::uint64_t)) : std::span<std::uint8_t>();
}

}  // namespace campipe
