// From one range of levels, full or limited, to the other, in integers, so that CPU and GPU agree on every sample.
#pragma once

#include <cstdint>

#include "kernels/host_device.h"

namespace campipe {

struct LevelRule {
  static constexpr int bits = 14;
  int scale = 1 << bits;
  int offset = 1 << (bits - 1);  // rounds

  CAMPIPE_HOST_DEVICE std::uint8_t operator()(std::uint8_t level) const {
    const int value = (level * scale + offset) >> bits;
    return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
  }
};

struct LevelRules {
  LevelRule luma;
  LevelRule chroma;
};

// `zero`: the level of black, or of no colour, before and after; `steps`: from there to white, or to the most colour.
constexpr LevelRule level_rule(int zero_in, int steps_in, int zero_out, int steps_out) {
  constexpr int one = 1 << LevelRule::bits;
  const int scale = (one * steps_out + steps_in / 2) / steps_in;
  return {scale, one / 2 + zero_out * one - zero_in * scale};
}

constexpr LevelRules full_to_limited{level_rule(0, 255, 16, 219), level_rule(128, 255, 128, 224)};
constexpr LevelRules limited_to_full{level_rule(16, 219, 0, 255), level_rule(128, 224, 128, 255)};

}  // namespace campipe
