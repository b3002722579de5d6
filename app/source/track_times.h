// The times of a live source's packets, made usable by a TrackClock for each track before anything else sees them; what
// is thought of a clock is logged, each kind once for each connection.
//
// Files keep their times, and so does what comes in bursts (HLS) or is asked for: their packets' arrivals show nothing.
// Used by the camera's ingest thread.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>

#include "app/source/read_ahead.h"
#include "app/source/track_clock.h"
#include "core/source_stream.h"

namespace campipe {

class TrackTimes {
 public:
  // `name`: of the camera, which is live. `by_arrival`: its clocks do not count.
  TrackTimes(std::string name, bool by_arrival);

  // A new connection.
  void restart();
  // For each packet in the order of reading, of the video or the audio. A packet whose time was made by the arrival or
  // a corrected rate no longer says when it was taken (wall_clock()).
  void correct(AVPacket& packet, ReadResult kind, const SourceStream& stream, const ReadAhead::Times& times);
  // How often a clock was found to be off by far, so that its track lies elsewhere against the other one than before.
  [[nodiscard]] int realigned() const { return realigned_; }

 private:
  struct Track {
    explicit Track(bool by_arrival) : clock(by_arrival) {}
    TrackClock clock;
    std::set<std::string> logged;
    bool reorders = false;  // packets are decoded in another order than they are shown in
  };
  void log(Track& track, const std::string& what) const;

  std::string name_;
  bool by_arrival_;
  std::optional<std::int64_t> arrival_at_;  // by_arrival_: where an arrival lies, less the arrival
  Track video_;
  Track audio_;
  int realigned_ = 0;
};

}  // namespace campipe
