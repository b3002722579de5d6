// When a frame was taken and how old it is, as users are shown it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "core/frame_age.h"
#include "core/utc_text.h"

namespace campipe {

struct ShownTimes {
  explicit ShownTimes(const FrameTimes& times)
      : taken(capture_utc_of(times)),
        capture_utc(utc_text(taken)),
        capture_clock(times.capture_utc > 0 && times.capture_clock == CaptureClock::camera ? "camera" : "arrival"),
        age_s(std::max(std::floor(static_cast<double>(since_arrival(times)) / 1e6) / 1e3, 0.0)) {}

  std::int64_t taken;         // UTC, ns
  std::string capture_utc;    // the same
  const char* capture_clock;  // which says so
  double age_s;               // since it arrived, whatever that clock is; to the millisecond
};

}  // namespace campipe
