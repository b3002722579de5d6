// What a camera gives up, one step after the other, where a device has too much to do and cameras of a higher priority
// run there (app/supervisor/moving/shed_policy.h). Each step has what the one before it has.
#pragma once

#include <cstdint>

namespace campipe {

enum class ShedStep : std::uint8_t { none, half_rate, quarter_rate, half_size, off };

// Of so many frames one is kept.
constexpr unsigned kept_one_of(ShedStep step) {
  return step >= ShedStep::quarter_rate ? 4 : step == ShedStep::half_rate ? 2 : 1;
}

// For people.
constexpr const char* text_of(ShedStep step) {
  switch (step) {
    case ShedStep::none:
      return "";
    case ShedStep::half_rate:
      return "every second frame is left out";
    case ShedStep::quarter_rate:
      return "three of four frames are left out";
    case ShedStep::half_size:
      return "three of four frames are left out, and the others have half the width and height";
    case ShedStep::off:
      return "nothing is decoded";
  }
  return "";
}

}  // namespace campipe
