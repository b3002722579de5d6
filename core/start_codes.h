// NAL units that are divided by start codes (ITU-T H.264 and H.265, Annex B).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace campipe {

inline constexpr std::array<std::uint8_t, 3> start_code{0, 0, 1};

// The bytes behind the first start code: a unit, and all that follows it. Empty: there is none, or nothing behind it.
inline std::span<const std::uint8_t> behind_start_code(std::span<const std::uint8_t> data) {
  const auto found = std::ranges::search(data, start_code);
  return {found.end(), data.end()};
}

}  // namespace campipe
