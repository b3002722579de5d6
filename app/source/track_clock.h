// What one track of a live source says of its times, made usable: the rate of its clock is learned against when its
// packets arrive (ClockRate), and timestamps of a clock that runs at another rate than said are stretched to it. A
// clock that cannot be repaired (it stands still, runs at less than a fifth or more than five times the rate, or jumps
// again and again) counts no more: a packet's time is then when it arrived, until the clock has been right for a while.
//
// What a clock is right about stays as it is to the last digit: small drifts, single jumps and stops are SourceClock's,
// which sees the times that come from here. How long it takes to see a rate: 1.5 to 5 s from the beginning of a
// connection, as the more it is off the less can it be the network, and 12 s where the clock had been right before.
//
// All times in ns; timestamps and their differences fit 63 bits. Used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "app/source/clock_rate.h"

namespace campipe {

class TrackClock {
 public:
  enum class Trust : std::uint8_t {
    right,  // times are as the source says, or all moved by the same
    rate,   // stretched
    none    // by arrival
  };
  enum class Why : std::uint8_t { configured, rate, jumps };  // a clock is not trusted
  struct Sample {
    std::int64_t source = 0;   // timestamp, in the order of decoding
    std::int64_t arrival = 0;  // monotonic
    std::int64_t waited = 0;   // how long it was waited for
  };

  // `by_arrival`: whatever the clock says.
  explicit TrackClock(bool by_arrival);

  // Sets where arrivals lie: a packet that arrives at t lies at t + `arrival_at`. For a clock that is made with
  // `by_arrival`, before its first packet; without it, that packet lies at its own timestamp.
  void place_arrivals(std::int64_t arrival_at) { placed_ = arrival_at; }
  // For each packet. True: what is thought of the clock has changed with it.
  bool observe(const Sample& sample);
  // Where a timestamp of the newest packet lies.
  [[nodiscard]] std::int64_t map(std::int64_t source) const;
  // The same of when it is shown, where packets are not decoded in that order: keeps the order of what is shown. Once
  // for each packet.
  std::int64_t map_shown(std::int64_t source);

  [[nodiscard]] Trust trust() const { return trust_; }
  [[nodiscard]] Why why() const { return why_; }
  [[nodiscard]] bool leaves_all() const { return trust_ == Trust::right && from_ == to_; }
  // The clock's, where it was seen; 1: as said.
  [[nodiscard]] double rate() const { return rate_; }
  // From packet to packet, by the arrivals; 0: not known.
  [[nodiscard]] std::int64_t usual_step() const { return packets_.usual_step(); }

 private:
  static constexpr std::int64_t none = INT64_MAX;

  [[nodiscard]] bool jumps_ahead(const Sample& sample) const;
  [[nodiscard]] bool was_the_network(const Sample& sample) const;
  void take_back(const Sample& sample);
  void look_for_return(const Sample& sample);
  void look_for_jump(const Sample& sample);
  void judge(const Sample& sample);
  [[nodiscard]] bool is_off(const ClockRate::Estimate& seen, const Sample& sample) const;
  void correct(const ClockRate::Estimate& seen);
  void confirm(const ClockRate::Estimate& seen);
  void believe_again(const Sample& sample);
  void stretch(double rate, std::int64_t behind);
  void distrust(Why why, double rate, std::int64_t behind);
  void follow_floor(std::int64_t lag, std::int64_t arrival);

  ClockRate packets_;
  Trust trust_ = Trust::right;
  Why why_ = Why::configured;
  double rate_ = 1;
  // The mapping: `from_` lies at `to_`, and what comes later is so much later by `stretch_`.
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
  double stretch_ = 1;
  std::optional<std::int64_t> placed_;  // arrival_at_, as others have it
  std::int64_t arrival_at_ = 0;  // where an arrival lies, less the arrival: by which times are where there is no trust
  std::optional<Sample> newest_;
  std::int64_t newest_at_ = 0;      // where it lies
  bool proven_ = false;             // the clock has been as it is thought to be
  std::int64_t judged_ = 0;         // arrival
  std::deque<std::int64_t> jumps_;  // arrivals
  // The shortest lags by the mapping: before this stretch of time, and in it.
  struct Floor {
    std::int64_t before = none;
    std::int64_t now = none;
    std::int64_t since = 0;
  };
  Floor floor_;
  Floor settled_;  // likewise since the clock is stretched; `before`: of what came more than a moment ago
  // Where a slow network was taken for a slow clock, and what it held up comes now: until the clock's own times have
  // come to where the packets lie, these lie close together.
  struct Return {
    std::int64_t from = 0;  // timestamp of the first one, and where it lies
    std::int64_t at = 0;
    std::int64_t arrival = 0;
    std::int64_t late = 0;  // it was, by its own time
  };
  std::optional<Return> returning_;
  std::int64_t own_offset_ = 0;                               // of the mapping, when the clock was trusted last
  std::int64_t own_shortest_ = none;                          // the shortest lag then, by the clock's own times
  std::vector<std::pair<std::int64_t, std::int64_t>> shown_;  // timestamps and where they lie, in order
};

}  // namespace campipe
