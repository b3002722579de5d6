// A test pattern that shows, in a way a machine can read after lossy encoding and scaling, which frame it is
// and when it was made. Used by the source test://pattern and by whatever checks what came out at the end.
//
// The code fills the top left of the luma plane: 16 columns × 8 rows of cells, each width/32 × height/24
// samples, black (16) or white (235), most significant bit first, row by row: number 32 bits, time 64 bits
// (UTC, microseconds), CRC-32 of those 12 bytes (big endian). Colour bars and a moving bar fill the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/frame.h"

namespace campipe {

struct PatternCode {
  std::uint32_t number = 0;
  std::int64_t utc_us = 0;
  friend bool operator==(const PatternCode&, const PatternCode&) = default;
};

inline constexpr int pattern_min_width = 160;
inline constexpr int pattern_min_height = 120;

// Draws frames of one format (i420, at least the minimum size, else Error). Not for several threads at once.
class PatternPainter {
 public:
  explicit PatternPainter(const FrameFormat& format);
  // Fills every sample of `out`, which must have the format given above. Does not allocate.
  void paint(const PatternCode& code, const MutableFrameView& out);

 private:
  FrameFormat format_;
  std::vector<std::uint8_t> luma_row_;  // twice the width, so that a row can start at any phase
  std::vector<std::uint8_t> chroma_rows_[2];
};

// Reads the code from a luma plane (i420 or nv12, any size from the minimum halved); nothing if it is not there
// or its checksum is wrong.
std::optional<PatternCode> read_pattern(const FrameView& frame);

}  // namespace campipe
