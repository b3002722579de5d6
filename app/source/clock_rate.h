// How fast a live source's clock runs, by when its packets arrive.
//
// A packet arrives late by what the network and the camera's buffers hold it up, and never early. So the lower envelope
// of the lags (arrival less timestamp) shows the clock, and what lies above it is the network: a stall, with all that
// it held up behind it, leaves the envelope as it was. The envelope of a clock that runs slow rises, that of one that
// runs fast falls. The line is the edge of the lags' lower convex hull in the middle of the time looked at, which is
// the line below all of them that they lie closest to.
//
// All times in ns; timestamps and their differences fit 63 bits. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace campipe {

class ClockRate {
 public:
  static constexpr std::int64_t longest_span = 12'000'000'000;
  static constexpr std::size_t fewest_packets = 4;  // that a rate is seen by

  struct Estimate {
    double rate = 1;               // of the source's clock, where 1 is this machine's
    std::int64_t span = 0;         // of the arrivals that it is of
    std::int64_t newest_over = 0;  // by which the newest packet's lag lies over the line
    bool straight = false;  // nearly all lags lie close to the line, as those of an even clock on an even network do,
                            // and no stall is among them
    double noise = 0;       // ns by which the lag may seem to grow in that time, for the jitter of the network
    bool drained = false;   // the source had nothing more to deliver: it was waited for in a fifth of the time
  };

  void clear() { packets_.clear(); }
  // The next packet. `waited`: how long it was waited for.
  void add(std::int64_t source, std::int64_t arrival, std::int64_t waited);
  // Of the newest packets that took at least so long to arrive (longest_span at most), and of all where they took less.
  // A rate of 1 and no span where they are too few.
  [[nodiscard]] Estimate estimate(std::int64_t span) const;
  [[nodiscard]] std::size_t count() const { return packets_.size(); }
  // The shortest lag; only after add().
  [[nodiscard]] std::int64_t shortest_lag() const;
  // From packet to packet; 0: not known.
  [[nodiscard]] std::int64_t usual_step() const;

 private:
  struct Packet {
    std::int64_t source = 0;
    std::int64_t arrival = 0;
    std::int64_t waited = 0;
    std::int64_t count = 1;  // of those that came at once, of which it is the one with the shortest lag
    [[nodiscard]] std::int64_t lag() const { return arrival - source; }
  };
  std::deque<Packet> packets_;
};

}  // namespace campipe
