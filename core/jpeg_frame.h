// The header of a JPEG picture's frame (ITU-T T.81, B.2.2), which has its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/big_endian.h"

namespace campipe {

// Of the second byte of a marker. Tables and a reserved one have numbers among those of frames.
inline bool begins_jpeg_frame(unsigned marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// Where these begin in the header, behind its marker.
struct JpegFrame {
  static constexpr std::size_t height = 3;
  static constexpr std::size_t width = 5;
  static constexpr std::size_t sampling = 9;  // of the first component
};

// Of the first frame in `data`: where its header begins, behind the marker, with so many bytes there as JpegFrame
// names. Nothing: there is none before the first scan.
inline std::optional<std::size_t> find_jpeg_frame(std::span<const std::uint8_t> data) {
  constexpr unsigned scan = 0xda;
  for (std::size_t at = 2; at + 2 + JpegFrame::sampling < data.size();) {
    if (data[at] != 0xff) return std::nullopt;
    const unsigned marker = data[at + 1];
    if (marker == 0xff) {
      ++at;
      continue;
    }
    if (begins_jpeg_frame(marker)) return at + 2;
    if (marker == scan) return std::nullopt;
    at += 2 + get_big_endian(&data[at + 2], 2);
  }
  return std::nullopt;
}

}  // namespace campipe
