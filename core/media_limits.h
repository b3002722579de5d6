// The sizes of frames and headers that are taken, from any sender: a header of a few bytes must not make campipe
// allocate gigabytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace campipe {

inline constexpr int smallest_side = 16;
inline constexpr int largest_side = 16384;
inline constexpr std::int64_t most_pixels = std::int64_t{1} << 27;  // 16384 × 8192

// Bytes of what a codec has before its first packet (parameter sets, configurations): it goes from process to process
// in messages. Cameras send some hundred.
inline constexpr int largest_codec_header = 16384;

// What is wrong with such a header, to stand behind whose it is, or nothing.
inline std::optional<std::string> refused_codec_header(std::int64_t size) {
  if (size <= largest_codec_header) return std::nullopt;
  return "has a codec header (parameter sets) of " + std::to_string(size) + " bytes, and at most " +
         std::to_string(largest_codec_header) + " are taken";
}

// What is wrong with a size, to stand behind a source's name, or nothing.
inline std::optional<std::string> refused_size(int width, int height) {
  const bool good = width >= smallest_side && height >= smallest_side && width <= largest_side &&
                    height <= largest_side && std::int64_t{width} * height <= most_pixels;
  if (good) return std::nullopt;
  return "has frames of " + std::to_string(width) + "x" + std::to_string(height) + ", and " +
         std::to_string(smallest_side) + " to " + std::to_string(largest_side) + " a side and at most " +
         std::to_string(most_pixels) + " in all are taken";
}

}  // namespace campipe
