// How old a frame is. Its age begins when its camera took it, where the camera says when that was; else when it
// arrived. Times in ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "core/clock.h"
#include "core/frame.h"
#include "core/nanoseconds.h"

namespace campipe {

// Since a frame arrived, whatever the camera's clock says; less than 0 where another machine's clock is not known well
// enough. 0: not known.
inline std::int64_t since_arrival(const FrameTimes& times) { return times.arrival > 0 ? now_ns() - times.arrival : 0; }

// When a frame arrived, by this machine's clock as it is now.
inline std::int64_t arrival_utc_of(const FrameTimes& times) { return utc_now_ns() - since_arrival(times); }

// When a frame was taken, by the clock that `capture_clock` names; where that is this machine's, as it is now: it may
// have been set since the frame came.
inline std::int64_t capture_utc_of(const FrameTimes& times) {
  constexpr std::int64_t longest_transit = 120 * ns_per_s;  // nothing is held up for longer: see SourceClock
  const std::int64_t arrival = arrival_utc_of(times);
  const bool by_camera = times.capture_clock == CaptureClock::camera;
  const bool holds = by_camera || std::abs(times.capture_utc - arrival) < longest_transit;
  return times.capture_utc > 0 && holds ? times.capture_utc : arrival;
}

// From when the camera took the frame to its arrival: what camera, network and library waited for. By the camera's
// clock, so that an error of that is in it; a clock that is ahead makes it 0. Nothing: the camera does not send its
// time.
inline std::optional<std::int64_t> transit_of(const FrameTimes& times) {
  if (times.capture_clock != CaptureClock::camera || times.capture_utc <= 0 || times.arrival <= 0) return std::nullopt;
  return std::max<std::int64_t>(arrival_utc_of(times) - times.capture_utc, 0);
}

}  // namespace campipe
