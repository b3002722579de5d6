// The types of data that frames carry (core/frame_metadata.h). A new one is a number in MetadataKind and a struct here:
// what a filter found, whether its numbers are possible, and what becomes of what two filters of a chain found.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/frame_metadata.h"

namespace campipe {

// Numbers are never used for another type, nor for the same one with other fields.
enum class MetadataKind : std::uint16_t {
  motion = 1,
};

// What a filter that looks for motion found in a frame, as parts (0 to 1) of what it watches.
struct MotionScore {
  static constexpr MetadataKind kind = MetadataKind::motion;
  float moving = 0;     // that moves; 0: not enough of it with a sharp edge to be motion
  float score = 0;      // that moves with a sharp edge, be it ever so little
  float threshold = 1;  // the least score that is motion; above 0

  [[nodiscard]] bool is_possible() const {
    return moving >= 0 && moving <= 1 && score >= 0 && score <= 1 && threshold > 0 && threshold <= 1;
  }
  // Of two that watch different zones, or at different times: what moves most, and the score that is the nearest to its
  // threshold, or the farthest above.
  static MotionScore combine(const MotionScore& one, const MotionScore& other) {
    MotionScore found = one.score / one.threshold >= other.score / other.threshold ? one : other;
    found.moving = std::max(one.moving, other.moving);
    return found;
  }
  friend bool operator==(const MotionScore&, const MotionScore&) = default;
};

}  // namespace campipe
