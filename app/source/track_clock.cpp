#include "app/source/track_clock.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/rings/timeline.h"
#include "core/nanoseconds.h"

namespace campipe {
namespace {

constexpr std::int64_t between_judgements = 250 * ns_per_ms;  // of a clock that is not yet known,
constexpr std::int64_t between_checks = ns_per_s;             // and of one that is
constexpr std::int64_t jump = 500 * ns_per_ms;                // that no drift makes from one packet to the next
constexpr std::size_t most_jumps = 5;                         // in `jumps_within`
constexpr std::int64_t jumps_within = 30 * ns_per_s;
constexpr std::int64_t fresh = 5 * ns_per_ms;  // a packet that was waited for so long had not lain there
constexpr double slowest = 0.2;
constexpr double fastest = 5;
constexpr double as_said = 0.007;        // of a clock that was stretched
constexpr double least_off = 0.01;       // that is not left to SourceClock
constexpr double least_refined = 0.004;  // at once; less bit by bit
constexpr double refined_part = 0.05;
constexpr double least_error = 120e6;  // ns that have come of it
constexpr double least_refined_error = 40e6;
constexpr std::int64_t least_behind =
    100 * ns_per_ms;               // is made up for at once. Less is left to SourceClock, and so is
constexpr double followed = 0.05;  // what it follows by itself meanwhile
constexpr std::int64_t long_span = ClockRate::longest_span;
constexpr std::int64_t below_floor = 150 * ns_per_ms;
constexpr std::int64_t floor_leak = 200;  // of the time
constexpr double slow_between_jumps = 0.3;
constexpr std::int64_t seen_between_jumps = 900 * ns_per_ms;
constexpr std::size_t packets_between_jumps = 8;
constexpr std::int64_t not_late = 300 * ns_per_ms;
constexpr std::int64_t soon = 250 * ns_per_ms;
constexpr std::int64_t ahead_of_all = 150 * ns_per_ms;
constexpr std::int64_t closer = 100;       // packets lie together, where a network is made up for;
constexpr std::int64_t least_made_up = 4;  // it makes up for that part of the time at least
constexpr std::size_t most_shown = 32;     // twice of what a codec may keep back
constexpr std::int64_t latest = std::int64_t{1} << 61;

// Of which spans a rate may be seen at the beginning of a connection, by how much the lag grows in that time.
struct Span {
  std::int64_t least;
  double slower;  // than the mapping thinks, at least
  double faster;
};
constexpr std::array early_spans{Span{long_span, least_off, least_off}, Span{8 * ns_per_s, 0.02, 0.02},
                                 Span{6500 * ns_per_ms, 0.025, 0.025},  Span{5 * ns_per_s, 0.03, 0.03},
                                 Span{3 * ns_per_s, 0.3, 0.3},          Span{2 * ns_per_s, 0.3, 1},
                                 Span{1500 * ns_per_ms, 0.7, 3}};

double passed(std::int64_t from, std::int64_t to) { return static_cast<double>(to) - static_cast<double>(from); }

std::int64_t rounded(double time) {
  return std::llround(std::clamp(time, -static_cast<double>(latest), static_cast<double>(latest)));
}

}  // namespace

TrackClock::TrackClock(bool by_arrival) : trust_(by_arrival ? Trust::none : Trust::right) {}

std::int64_t TrackClock::map(std::int64_t source) const {
  if (trust_ == Trust::right) {
    const std::int64_t own = std::clamp(source + (to_ - from_), -latest, latest);
    return returning_ ? std::max(own, returning_->at + (source - returning_->from) / closer) : own;
  }
  return rounded(static_cast<double>(to_) + passed(from_, source) * stretch_);
}

std::int64_t TrackClock::map_shown(std::int64_t source) {
  std::int64_t at = map(source);
  if (trust_ == Trust::right) {
    shown_.clear();
    return at;
  }
  // Those that were shown long ago are no neighbours.
  if (shown_.size() >= most_shown) shown_.erase(shown_.begin());
  const auto next = std::ranges::upper_bound(shown_, source, {}, &std::pair<std::int64_t, std::int64_t>::first);
  if (next != shown_.end()) at = std::min(at, next->second - smallest_step);
  if (next != shown_.begin()) at = std::max(at, std::prev(next)->second + (next == shown_.end() ? smallest_step : 1));
  shown_.insert(next, {source, at});
  return at;
}

bool TrackClock::observe(const Sample& sample) {
  const Trust before = trust_;
  if (!newest_) {
    from_ = to_ = sample.source;
    arrival_at_ = placed_.value_or(sample.source - sample.arrival);
    judged_ = sample.arrival;
    floor_.since = sample.arrival;
  } else {
    look_for_jump(sample);
  }
  packets_.add(sample.source, sample.arrival, sample.waited);
  if (trust_ == Trust::right) {
    own_offset_ = to_ - from_;
    own_shortest_ = std::min(own_shortest_, sample.arrival - sample.source);
  }
  if (returning_) look_for_return(sample);
  if (trust_ == Trust::none) {
    const std::int64_t at = sample.arrival + arrival_at_;
    to_ = std::min(newest_ ? std::max(at, newest_at_ + smallest_step) : at, latest);
    from_ = sample.source;
  }
  newest_ = sample;
  newest_at_ = map(sample.source);
  follow_floor(sample.arrival - newest_at_, sample.arrival);
  if (why_ == Why::configured && trust_ == Trust::none) return false;
  // In the middle of what comes at once nothing can be seen.
  if (sample.waited >= fresh && sample.arrival - judged_ >= (proven_ ? between_checks : between_judgements)) {
    judged_ = sample.arrival;
    judge(sample);
  }
  return trust_ != before;
}

// A timestamp before the last one, or that lets the lag fall far below all others, is of a clock that was set; so is
// one that makes up for what a slow clock was behind. That is SourceClock's, unless it happens again and again or the
// mapping is none that it could see it by.
bool TrackClock::jumps_ahead(const Sample& sample) const {
  const std::int64_t moved = sample.source - newest_->source;
  const std::int64_t went_by = sample.arrival - newest_->arrival;
  if (trust_ == Trust::rate) {
    const bool far = static_cast<double>(moved) * stretch_ - static_cast<double>(went_by) > static_cast<double>(jump);
    return far && sample.arrival - map(sample.source) < std::min(floor_.before, floor_.now) - jump;
  }
  if (moved - went_by <= jump) return false;
  if (sample.arrival - sample.source < packets_.shortest_lag() - jump) return true;
  if (sample.waited < fresh || packets_.count() < packets_between_jumps) return false;
  const ClockRate::Estimate seen = packets_.estimate(2 * ns_per_s);
  return seen.straight && seen.span > seen_between_jumps && 1 - seen.rate > slow_between_jumps;
}

// A clock that runs slow is late by ever more. Packets that lie ahead of all before them, though the clock has not
// jumped, had been held up.
bool TrackClock::was_the_network(const Sample& sample) const {
  if (trust_ != Trust::rate || rate_ >= 1 || settled_.before == none || own_shortest_ == none) return false;
  return sample.arrival - map(sample.source) < settled_.before - ahead_of_all;
}

void TrackClock::take_back(const Sample& sample) {
  returning_ = {sample.source, newest_at_ + smallest_step, sample.arrival,
                sample.arrival - sample.source - own_shortest_};
  trust_ = Trust::right;
  rate_ = stretch_ = 1;
  from_ = sample.source;
  to_ = sample.source + own_offset_;
  proven_ = false;
  packets_.clear();
  floor_ = {none, none, sample.arrival};
}

// It is over, or what it was begun for is not so: packets are as late as they were.
void TrackClock::look_for_return(const Sample& sample) {
  const std::int64_t passed_since = sample.arrival - returning_->arrival;
  const std::int64_t late = sample.arrival - sample.source - own_shortest_;
  if (map(sample.source) == sample.source + own_offset_) {
    returning_.reset();
  } else if (passed_since > ns_per_s && late > std::max(returning_->late - passed_since / least_made_up, not_late)) {
    to_ = map(sample.source);
    from_ = sample.source;
    own_shortest_ = none;
    returning_.reset();
  }
}

void TrackClock::look_for_jump(const Sample& sample) {
  const std::int64_t moved = sample.source - newest_->source;
  const std::int64_t went_by = sample.arrival - newest_->arrival;
  if (!jumps_ahead(sample) && moved > -jump) {
    if (was_the_network(sample)) take_back(sample);
    return;
  }
  returning_.reset();
  own_shortest_ = none;
  packets_.clear();
  shown_.clear();
  floor_ = settled_ = {none, none, sample.arrival};
  if (trust_ == Trust::rate) {
    to_ = std::min(newest_at_ + std::max(went_by, smallest_step), latest);
    from_ = sample.source;
  }
  // What was sent before the connection comes at once, and may have gaps.
  if (sample.waited < fresh) return;
  jumps_.push_back(sample.arrival);
  while (sample.arrival - jumps_.front() > jumps_within) jumps_.pop_front();
  if (trust_ != Trust::none && jumps_.size() >= most_jumps) distrust(Why::jumps, 1, 0);
}

void TrackClock::judge(const Sample& sample) {
  if (trust_ == Trust::none) return believe_again(sample);
  if (proven_) {
    const ClockRate::Estimate seen = packets_.estimate(ClockRate::longest_span);
    if (seen.span < long_span || !seen.straight) return;
    return is_off(seen, sample) ? correct(seen) : confirm(seen);
  }
  for (const Span& span : early_spans) {
    const ClockRate::Estimate seen = packets_.estimate(span.least);
    if (seen.span < span.least) continue;
    const double growth = 1 - seen.rate * stretch_;
    // However uneven the network is: nothing is seen in all that time.
    if (!seen.straight && span.least == long_span && std::abs(growth) < least_off) return confirm(seen);
    if (!seen.straight) continue;
    if (growth < span.slower && -growth < span.faster) {
      if (span.least >= 5 * ns_per_s && std::abs(growth) < least_off) return confirm(seen);
      continue;
    }
    if (is_off(seen, sample)) return correct(seen);
  }
}

// A lag that grows or shrinks while this machine does not keep up is not the clock's; nor is one that shrinks to what
// it was.
bool TrackClock::is_off(const ClockRate::Estimate& seen, const Sample& sample) const {
  const double growth = 1 - seen.rate * stretch_;
  const double least = trust_ == Trust::rate ? least_refined : least_off;
  if (std::abs(growth) < least || !seen.drained) return false;
  const double error = std::abs(growth) * static_cast<double>(seen.span);
  if (error < (trust_ == Trust::rate ? least_refined_error : least_error) + seen.noise) return false;
  return growth > 0 || !proven_ || floor_.before == none ||
         sample.arrival - map(sample.source) < floor_.before - below_floor;
}

void TrackClock::correct(const ClockRate::Estimate& seen) {
  // What the lag has grown by, without what the network held up the newest packet.
  const std::int64_t grown = newest_->arrival - newest_at_ - seen.newest_over - std::min(floor_.before, floor_.now);
  const bool far = grown > least_behind && std::abs(seen.rate - 1) > followed;
  const std::int64_t behind = far ? std::min(grown, latest) : 0;
  proven_ = false;
  if (seen.rate < slowest || seen.rate > fastest) return distrust(Why::rate, seen.rate, behind);
  stretch(seen.rate, behind);
}

void TrackClock::confirm(const ClockRate::Estimate& seen) {
  if (!proven_) floor_ = {none, none, newest_->arrival};
  proven_ = true;
  if (trust_ == Trust::rate && seen.span >= long_span && seen.straight)
    stretch(rate_ + refined_part * (seen.rate - rate_), 0);
}

void TrackClock::believe_again(const Sample& sample) {
  const ClockRate::Estimate seen = packets_.estimate(ClockRate::longest_span);
  const bool calm = jumps_.empty() || sample.arrival - jumps_.back() > jumps_within;
  if (seen.span < long_span || !seen.straight || !calm || seen.rate < slowest || seen.rate > fastest) return;
  jumps_.clear();
  stretch(seen.rate, 0);
}

// From the newest packet on, which lies `behind` later.
void TrackClock::stretch(double rate, std::int64_t behind) {
  const bool right = std::abs(rate - 1) < (trust_ == Trust::right ? least_off : as_said);
  proven_ = proven_ && !right;
  const bool was_stretched = trust_ == Trust::rate && settled_.before != none;
  returning_.reset();
  to_ = std::min(newest_at_ + behind, latest);
  from_ = newest_->source;
  rate_ = right ? 1 : rate;
  stretch_ = 1 / rate_;
  trust_ = right ? Trust::right : Trust::rate;
  newest_at_ = to_;
  settled_ = {was_stretched ? std::min(settled_.before, settled_.now) - behind : none, none, newest_->arrival};
  if (!proven_) floor_ = {none, none, newest_->arrival};
}

void TrackClock::distrust(Why why, double rate, std::int64_t behind) {
  returning_.reset();
  why_ = why;
  rate_ = rate;
  to_ = std::min(newest_at_ + behind, latest);
  from_ = newest_->source;
  newest_at_ = to_;
  arrival_at_ = to_ - newest_->arrival;
  // Between when it is decoded and shown, which is no long time.
  stretch_ = rate >= slowest && rate <= fastest ? 1 / rate : 0;
  trust_ = Trust::none;
  proven_ = false;
}

void TrackClock::follow_floor(std::int64_t lag, std::int64_t arrival) {
  settled_.now = std::min(settled_.now, lag);
  if (arrival - settled_.since >= (settled_.before == none ? soon : ns_per_s))
    settled_ = {std::min(settled_.before, settled_.now), none, arrival};
  floor_.now = std::min(floor_.now, lag);
  const std::int64_t length = arrival - floor_.since;
  if (length < ClockRate::longest_span) return;
  const std::int64_t risen = floor_.before == none ? none : floor_.before + length / floor_leak;
  floor_ = {std::min(risen, floor_.now), none, arrival};
}

}  // namespace campipe
