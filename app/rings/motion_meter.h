// Enters into the rig page how much moves in what an output shows. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/metadata_types.h"

namespace campipe {

struct MotionBlock;

class MotionMeter {
 public:
  explicit MotionMeter(MotionBlock& block) : block_(block) {}
  // Of a frame, which need not have a score; `pts` in nanoseconds.
  void take(const FrameMetadata& frame, std::int64_t pts);

 private:
  // So that who asks once in two seconds misses nothing.
  static constexpr std::int64_t period = 500'000'000;
  std::array<std::optional<MotionScore>, 5> periods_;  // the scores of each, combined; the first is the newest
  std::int64_t begin_ = 0;                             // of that one
  MotionBlock& block_;
};

}  // namespace campipe
