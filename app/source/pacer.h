// When a packet of a paced source is due: the time since the first packet is that of its timestamps. Paced are files at
// `pace: realtime`, and live sources that deliver seconds at once (HLS). Where the timestamps jump, time is counted
// from there. Used by the camera's ingest thread; times in ns on the timeline that the packets are paced by.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/clock.h"

namespace campipe {

class Pacer {
 public:
  // `camera`: its number, by which cameras that start together are spread.
  explicit Pacer(unsigned camera) : camera_(camera) {}

  // Packets up to that time were shown before: they are due at once.
  void set_shown(std::int64_t until) { shown_ = until; }
  // Another connection, whose times are its own.
  void restart() { anchor_.reset(); }
  // That time is due then.
  void begin(Clock::time_point when, std::int64_t time) { anchor_.emplace(when, last_ = time); }
  // The next packet lies there, and that is no jump.
  void skip_to(std::int64_t time) { last_ = time; }
  // `frame_rate` of the source; 0: not known.
  Clock::time_point due(std::int64_t time, double frame_rate);

 private:
  [[nodiscard]] std::chrono::nanoseconds stagger(double frame_rate) const;

  unsigned camera_;
  std::int64_t shown_ = -1;
  std::optional<std::pair<Clock::time_point, std::int64_t>> anchor_;  // when which time was due
  std::int64_t last_ = 0;
};

}  // namespace campipe
