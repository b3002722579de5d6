// The media clock of a live source: monotonic time plus an offset that is slewed towards UTC and never follows a clock
// that is set. What has to be the same after a restart, and on another machine, goes by it, as the grid of key frames
// does.
//
// A frame's media time is its time in the stream, which follows the monotonic clock (SourceClock), plus the UTC of the
// stream's 0. Each packet shows that offset: by this machine's clock and when the stream began; or, where the camera
// sends it, by when it took the frame, which is the same number on every machine. What packets show jitters, and clocks
// are set. So the offset is taken over once, and once more when the camera's own clock replaces the arrivals; from then
// on it follows by 0.5 % of the time that passes: 128 ms, the most that NTP slews, in 26 s. A clock that is set by an
// hour does not move the grid until the rig is started again.
//
// All times in ns. Used by one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/frame.h"

namespace campipe {

class MediaClock {
 public:
  // As a process before this one had it.
  void resume(std::int64_t offset, CaptureClock by) {
    offset_ = offset;
    by_ = by;
  }

  // A packet with the time `at` in the stream shows this UTC of the stream's 0.
  void measure(std::int64_t offset, CaptureClock by, std::int64_t at) {
    const std::int64_t passed = std::max<std::int64_t>(at - newest_.value_or(at), 0);
    newest_ = std::max(newest_.value_or(at), at);
    if (!offset_ || (by == CaptureClock::camera && by_ == CaptureClock::arrival)) {
      offset_ = offset;
      by_ = by;
    } else if (by == by_) {  // else the camera does not send its time at the moment: the offset stays
      const std::int64_t most = passed / slew;
      *offset_ += std::clamp(offset - *offset_, -most, most);
    }
  }

  // Media time less the stream's time. 0 before the first measurement.
  [[nodiscard]] std::int64_t offset() const { return offset_.value_or(0); }

 private:
  static constexpr std::int64_t slew = 200;

  std::optional<std::int64_t> offset_;
  CaptureClock by_ = CaptureClock::arrival;
  std::optional<std::int64_t> newest_;  // of the stream's times
};

}  // namespace campipe
