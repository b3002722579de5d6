#include "app/source/source_clock.h"

#include <algorithm>
#include <cstdlib>

#include "app/rings/timeline.h"
#include "core/nanoseconds.h"

namespace campipe {
namespace {

constexpr std::int64_t longest_slip = 500 * ns_per_ms;    // backwards, of a single frame; more is another clock
constexpr std::int64_t longest_file_gap = 10 * ns_per_s;  // more needs confirmation
constexpr std::int64_t longest_confirmed_gap = 30 * 3600 * ns_per_s;
constexpr std::int64_t tolerance = 200 * ns_per_ms;  // by which a live source's time may lead the earliest arrival
constexpr std::int64_t first_step = 10 * ns_per_s;   // as long as the frame rate is not known
constexpr std::int64_t origin_search = 30 * ns_per_s;
constexpr std::int64_t longest_opening = 60 * ns_per_s;  // that a connection's first packet may have waited
constexpr std::int64_t longest_file = std::int64_t{10} * 365 * 24 * 3600 * ns_per_s;

constexpr std::size_t buckets_to_settle = 4;
constexpr std::size_t buckets_to_shift = 10;
constexpr std::int64_t coarse_error = 100 * ns_per_ms;  // is followed by 5 %, less by 0.1 %
constexpr std::int64_t coarse_slew = 20;
constexpr std::int64_t fine_slew = 1000;

constexpr std::int64_t longest_audio_lead = ns_per_s;       // over its arrival
constexpr std::int64_t longest_audio_delay = 2 * ns_per_s;  // behind the video

}  // namespace

// The source's clock counts from there.
void SourceClock::place(std::int64_t source, std::int64_t at) {
  offset_before_ = offset_;
  offset_ = at - source;
  settled_ = false;
  lags_.clear();
  drift_.left = 0;
  slips_.by = 0;
  relation_ = {};
}

void SourceClock::begin(std::int64_t source, std::int64_t at) {
  place(source, at);
  newest_.source.reset();
  anchored_ = true;
}

void SourceClock::resume(std::int64_t last, std::int64_t origin) {
  newest_.at = std::max(newest_.at, last);
  if (origin == 0) return;
  origin_.at = origin;
  origin_.known_for = origin_search;
}

void SourceClock::reconnect() {
  anchored_ = false;
  previewed_.reset();
  newest_.source.reset();
}

void SourceClock::preview(std::int64_t source, std::int64_t arrival) {
  const std::int64_t offset = arrival - source;
  if (!previewed_) previewed_ = Previewed{offset, offset};
  if (std::abs(offset - previewed_->first) <= longest_opening)
    previewed_->earliest = std::min(previewed_->earliest, offset);
}

// Where a connection begins.
void SourceClock::anchor(const Sample& sample) {
  const std::int64_t waited = previewed_ ? sample.arrival - sample.source - previewed_->earliest : 0;
  const std::int64_t taken = sample.arrival - std::clamp<std::int64_t>(waited, 0, longest_opening);
  if (!origin_.at) origin_.at = taken - (newest_.at < 0 ? 0 : newest_.at + smallest_step);
  place(sample.source, taken - *origin_.at);
  offset_before_ = offset_;
  anchored_ = true;
  previewed_.reset();
  drift_.followed = 0;
  newest_.arrival = sample.arrival;
  step_ = 0;
}

std::int64_t SourceClock::lag_of(const Sample& sample) const {
  return sample.arrival - *origin_.at - map(sample.source);
}

bool SourceClock::leaps(std::int64_t source) const {
  if (live_ || !newest_.source) return false;
  return map(source) - (newest_.at + newest_.duration) > longest_file_gap;
}

std::optional<std::int64_t> SourceClock::map_beside(std::int64_t source, std::int64_t arrival) const {
  if (!anchored_) return std::nullopt;
  if (!live_)
    return std::abs(map(source) - newest_.at) > longest_confirmed_gap ? std::nullopt : std::optional(map(source));
  for (const std::int64_t offset : {offset_, offset_before_}) {
    if (beside(offset, source, arrival)) return source + offset;
  }
  return std::nullopt;
}

bool SourceClock::beside(std::int64_t offset, std::int64_t source, std::int64_t arrival) const {
  const std::int64_t at = source + offset;
  return at - (arrival - *origin_.at) <= longest_audio_lead && at >= newest_.at - longest_audio_delay;
}

std::optional<SourceClock::Corrected> SourceClock::observe(const Sample& sample) {
  const bool begins = !anchored_;
  if (begins) anchor(sample);
  const std::int64_t moved = newest_.source ? sample.source - *newest_.source : 0;
  std::optional<Corrected> corrected = live_ ? observe_live(sample, moved) : observe_file(sample, moved);
  if (begins) opening_lag_ = lag_;
  if (lag_ <= LagHistory::longest_usual) opening_lag_.reset();
  newest_.source = sample.source;
  newest_.at = std::max(newest_.at, map(sample.source));
  newest_.duration = sample.duration;
  newest_.arrival = sample.arrival;
  return corrected;
}

std::optional<SourceClock::Corrected> SourceClock::observe_file(const Sample& sample, std::int64_t moved) {
  const std::int64_t due = newest_.at + std::max(newest_.duration, smallest_step);
  const std::int64_t at = map(sample.source);
  const std::int64_t longest = sample.leap_confirmed ? longest_confirmed_gap : longest_file_gap;
  const bool leap = (newest_.source && at - due > longest) || at > longest_file;
  if (!leap && moved > -longest_slip && at > -longest_confirmed_gap) return std::nullopt;
  place(sample.source, due);
  return Corrected{leap ? Correction::jumped : Correction::backwards, moved};
}

std::optional<SourceClock::Corrected> SourceClock::observe_live(const Sample& sample, std::int64_t moved) {
  const std::int64_t passed = sample.arrival - newest_.arrival;
  follow_drift(passed);
  origin_.known_for += passed;
  std::optional<Corrected> corrected;
  if (moved <= -longest_slip) {
    corrected = set_back(sample, Correction::backwards, moved, passed);
  } else if (moved < 0 && slips_.are_for_good(-moved, lag_, lag_of(sample))) {
    corrected = Corrected{Correction::backwards, -slips_.by};
    place(sample.source, std::max(newest_.at + smallest_step, sample.arrival - *origin_.at - slips_.lag_before));
  } else if (lag_of(sample) < 0) {
    corrected = lead(sample, moved, passed);
  } else if (moved > 0) {
    step_ += step_ == 0 ? moved : (std::min(moved, 2 * step_) - step_) / 8;
  }
  lag_ = lag_of(sample);
  if (corrected) return corrected;
  if (sample.capture_utc) relation_.now = *sample.capture_utc - sample.source;
  if (lag_ <= LagHistory::longest_usual) relation_.usual = relation_.now;
  return judge(passed, sample);
}

// Its timestamp is earlier than any packet arrived so far. Either the clock behind it was set, or all before came late.
std::optional<SourceClock::Corrected> SourceClock::lead(const Sample& sample, std::int64_t moved, std::int64_t passed) {
  const std::int64_t ahead = -lag_of(sample);
  const std::int64_t longest_step = step_ > 0 ? 3 * step_ : first_step;
  const bool jumped = moved > passed + tolerance + longest_step;
  if (ahead > tolerance && jumped) return set_back(sample, Correction::jumped, moved - passed, passed);
  if (origin_.known_for < origin_search && origin_.moved + ahead <= longest_opening) {
    *origin_.at -= ahead;
    origin_.moved += ahead;
    change_lags(ahead);
  } else if (!settled_) {
    offset_ -= ahead;
    change_lags(ahead);
  } else if (ahead > tolerance) {
    return set_back(sample, Correction::jumped, ahead, passed);
  }
  return std::nullopt;
}

bool SourceClock::Slips::are_for_good(std::int64_t step, std::int64_t lag, std::int64_t next_lag) {
  if (by >= longest_slip) by = 0;  // they were made up for
  if (by == 0) lag_before = std::max<std::int64_t>(lag, 0);
  by += step;
  return by >= longest_slip && next_lag - lag_before > by / 2;
}

// Time goes on as it was due: by the arrival, and in what comes all at once by the frame rate.
std::optional<SourceClock::Corrected> SourceClock::set_back(const Sample& sample, Correction kind, std::int64_t by,
                                                            std::int64_t passed) {
  const std::int64_t due = std::min(newest_.at + std::max(passed, step_), sample.arrival - *origin_.at);
  place(sample.source, std::max(due, newest_.at + smallest_step));
  return Corrected{kind, by};
}

// Nothing holds up more than a minute.
bool SourceClock::Relation::says_it_went_on(std::int64_t lag) const {
  return usual && now && lag <= longest_opening && std::abs(*now - *usual) < std::min(tolerance, lag / 2);
}

std::optional<SourceClock::Corrected> SourceClock::judge(std::int64_t passed, const Sample& sample) {
  if (!lags_.add(lag_, passed, sample.waited)) return std::nullopt;
  const std::size_t needed = settled_ ? buckets_to_shift : buckets_to_settle;
  if (lags_.size() < needed) return std::nullopt;
  const LagHistory::Stretch all = lags_.newest(needed);
  if (all.shortest <= LagHistory::longest_usual) {
    drift_.left = all.shortest < 0 || all.drained ? all.shortest : 0;
    settled_ = settled_ || all.drained;
    return std::nullopt;
  }
  drift_.left = 0;
  if (all.drained && all.longest - all.shortest <= LagHistory::steady) return move_on(sample, all.shortest);
  return lags_.grows_for_long() ? move_on(sample, lags_.newest_lag()) : std::nullopt;
}

std::optional<SourceClock::Corrected> SourceClock::move_on(const Sample& sample, std::int64_t lag) {
  if (relation_.says_it_went_on(lag)) return std::nullopt;
  place(sample.source, map(sample.source) + lag);
  settled_ = true;
  lag_ -= lag;
  return Corrected{Correction::stopped, -lag};
}

void SourceClock::follow_drift(std::int64_t passed) {
  const std::int64_t most = passed / (std::abs(drift_.left) > coarse_error ? coarse_slew : fine_slew);
  const std::int64_t part = std::clamp(drift_.left, -most, most);
  if (part == 0) return;
  offset_ += part;
  change_lags(-part);
  drift_.left -= part;
  drift_.followed -= part;
}

// Those that wait to be judged, and the first.
void SourceClock::change_lags(std::int64_t by) {
  lags_.shift(by);
  if (opening_lag_) *opening_lag_ += by;
}

}  // namespace campipe
