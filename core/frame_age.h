// How old a frame is. Its age begins when its camera took it, where the camera says when that was; else when it
// arrived. Times in ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/clock.h"
#include "core/frame.h"

namespace campipe {

// When a frame arrived, by this machine's clock as it is now.
inline std::int64_t arrival_utc_of(const FrameTimes& times) {
  return utc_now_ns() - (times.arrival > 0 ? now_ns() - times.arrival : 0);
}

// From when the camera took the frame to its arrival: what camera, network and library waited for. By the camera's
// clock, so that an error of that is in it; a clock that is ahead makes it 0. Nothing: the camera does not send its
// time.
inline std::optional<std::int64_t> transit_of(const FrameTimes& times) {
  if (times.capture_clock != CaptureClock::camera || times.capture_utc <= 0 || times.arrival <= 0) return std::nullopt;
  return std::max<std::int64_t>(arrival_utc_of(times) - times.capture_utc, 0);
}

}  // namespace campipe
