#include "app/master/source_clock.h"

#include <algorithm>
#include <cstdlib>

namespace campipe {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;

constexpr std::int64_t smallest_step = ms;              // between frames whose times do not grow
constexpr std::int64_t longest_slip = 500 * ms;         // backwards, of a single frame; more is another clock
constexpr std::int64_t longest_file_gap = 10 * second;  // more needs confirmation
constexpr std::int64_t longest_confirmed_gap = 30 * 3600 * second;
constexpr std::int64_t tolerance = 200 * ms;      // by which a live source's time may lead the earliest arrival
constexpr std::int64_t first_step = 10 * second;  // as long as the frame rate is not known
constexpr std::int64_t origin_search = 30 * second;
constexpr std::int64_t longest_opening = 60 * second;  // that a connection's first packet may have waited
constexpr std::int64_t longest_file = std::int64_t{10} * 365 * 24 * 3600 * second;

// What is judged: some buckets of so many frames and so long at least.
constexpr int bucket_samples = 10;
constexpr std::int64_t bucket_span = 500 * ms;
constexpr std::size_t buckets_to_settle = 4;
constexpr std::size_t buckets_to_shift = 10;
constexpr std::size_t buckets_to_outgrow = 20;
constexpr std::int64_t steady = 100 * ms;        // how much their shortest lags may differ
constexpr std::int64_t longest_lag = 150 * ms;   // that drift and a slower network may cause
constexpr std::int64_t drained_part = 5;         // waited for a fifth of the time: nothing more was there
constexpr std::int64_t coarse_error = 100 * ms;  // is followed by 5 %, less by 0.1 %
constexpr std::int64_t coarse_slew = 20;
constexpr std::int64_t fine_slew = 1000;

constexpr std::int64_t longest_audio_lead = second;       // over its arrival
constexpr std::int64_t longest_audio_delay = 2 * second;  // behind the video

}  // namespace

// The source's clock counts from there.
void SourceClock::place(std::int64_t source, std::int64_t at) {
  offset_before_ = offset_;
  offset_ = at - source;
  settled_ = false;
  bucket_ = {};
  buckets_.clear();
  slew_ = 0;
  slipped_ = 0;
  relation_ = newest_relation_ = std::nullopt;
}

void SourceClock::begin(std::int64_t source, std::int64_t at) {
  place(source, at);
  last_source_.reset();
  anchored_ = true;
}

void SourceClock::resume(std::int64_t last, std::int64_t origin) {
  last_ = std::max(last_, last);
  if (origin == 0) return;
  origin_ = origin;
  origin_known_for_ = origin_search;
}

void SourceClock::reconnect() {
  anchored_ = false;
  previewed_.reset();
  last_source_.reset();
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
  if (!origin_) origin_ = taken - (last_ < 0 ? 0 : last_ + smallest_step);
  place(sample.source, taken - *origin_);
  offset_before_ = offset_;
  anchored_ = true;
  previewed_.reset();
  drift_ = 0;
  last_arrival_ = sample.arrival;
  step_ = 0;
}

std::int64_t SourceClock::lag_of(const Sample& sample) const { return sample.arrival - *origin_ - map(sample.source); }

bool SourceClock::leaps(std::int64_t source) const {
  if (live_ || !last_source_) return false;
  return map(source) - (last_ + last_duration_) > longest_file_gap;
}

std::optional<std::int64_t> SourceClock::map_beside(std::int64_t source, std::int64_t arrival) const {
  if (!anchored_) return std::nullopt;
  if (!live_) return std::abs(map(source) - last_) > longest_confirmed_gap ? std::nullopt : std::optional(map(source));
  for (const std::int64_t offset : {offset_, offset_before_}) {
    const std::int64_t at = source + offset;
    if (at - (arrival - *origin_) <= longest_audio_lead && at >= last_ - longest_audio_delay) return at;
  }
  return std::nullopt;
}

std::optional<SourceClock::Corrected> SourceClock::observe(const Sample& sample) {
  const bool begins = !anchored_;
  if (begins) anchor(sample);
  const std::int64_t moved = last_source_ ? sample.source - *last_source_ : 0;
  std::optional<Corrected> corrected = live_ ? observe_live(sample, moved) : observe_file(sample, moved);
  if (begins) opening_lag_ = lag_;
  if (lag_ <= longest_lag) opening_lag_.reset();
  last_source_ = sample.source;
  last_ = std::max(last_, map(sample.source));
  last_duration_ = sample.duration;
  last_arrival_ = sample.arrival;
  return corrected;
}

std::optional<SourceClock::Corrected> SourceClock::observe_file(const Sample& sample, std::int64_t moved) {
  const std::int64_t due = last_ + std::max(last_duration_, smallest_step);
  const std::int64_t at = map(sample.source);
  const std::int64_t longest = sample.leap_confirmed ? longest_confirmed_gap : longest_file_gap;
  const bool leap = (last_source_ && at - due > longest) || at > longest_file;
  if (!leap && moved > -longest_slip && at > -longest_confirmed_gap) return std::nullopt;
  place(sample.source, due);
  return Corrected{leap ? Correction::jumped : Correction::backwards, moved};
}

std::optional<SourceClock::Corrected> SourceClock::observe_live(const Sample& sample, std::int64_t moved) {
  const std::int64_t passed = sample.arrival - last_arrival_;
  follow_drift(passed);
  origin_known_for_ += passed;
  std::optional<Corrected> corrected;
  if (moved <= -longest_slip) {
    corrected = set_back(sample, Correction::backwards, moved, passed);
  } else if (moved < 0 && slips_for_good(sample, moved)) {
    corrected = Corrected{Correction::backwards, -slipped_};
    place(sample.source, std::max(last_ + smallest_step, sample.arrival - *origin_ - lag_before_slips_));
  } else if (lag_of(sample) < 0) {
    corrected = lead(sample, moved, passed);
  } else if (moved > 0) {
    step_ += step_ == 0 ? moved : (std::min(moved, 2 * step_) - step_) / 8;
  }
  lag_ = lag_of(sample);
  if (corrected) return corrected;
  if (sample.capture_utc) newest_relation_ = *sample.capture_utc - sample.source;
  if (lag_ <= longest_lag) relation_ = newest_relation_;
  return judge(passed, sample);
}

// Its timestamp is earlier than any packet arrived so far. Either the clock behind it was set, or all before came late.
std::optional<SourceClock::Corrected> SourceClock::lead(const Sample& sample, std::int64_t moved, std::int64_t passed) {
  const std::int64_t ahead = -lag_of(sample);
  const std::int64_t longest_step = step_ > 0 ? 3 * step_ : first_step;
  const bool jumped = moved > passed + tolerance + longest_step;
  if (ahead > tolerance && jumped) return set_back(sample, Correction::jumped, moved - passed, passed);
  if (origin_known_for_ < origin_search && origin_moved_ + ahead <= longest_opening) {
    *origin_ -= ahead;
    origin_moved_ += ahead;
    change_lags(ahead);
  } else if (!settled_) {
    offset_ -= ahead;
    change_lags(ahead);
  } else if (ahead > tolerance) {
    return set_back(sample, Correction::jumped, ahead, passed);
  }
  return std::nullopt;
}

// Small steps back that are not made up for: each of them makes what follows later.
bool SourceClock::slips_for_good(const Sample& sample, std::int64_t moved) {
  if (slipped_ >= longest_slip) slipped_ = 0;  // they were made up for
  if (slipped_ == 0) lag_before_slips_ = std::max<std::int64_t>(lag_, 0);
  slipped_ -= moved;
  return slipped_ >= longest_slip && lag_of(sample) - lag_before_slips_ > slipped_ / 2;
}

// Time goes on as it was due: by the arrival, and in what comes all at once by the frame rate.
std::optional<SourceClock::Corrected> SourceClock::set_back(const Sample& sample, Correction kind, std::int64_t by,
                                                            std::int64_t passed) {
  const std::int64_t due = std::min(last_ + std::max(passed, step_), sample.arrival - *origin_);
  place(sample.source, std::max(due, last_ + smallest_step));
  return Corrected{kind, by};
}

// The camera's own clock says that its timestamps went on all the time: what is late was held up on its way. Nothing
// holds up more than a minute.
bool SourceClock::says_it_went_on(std::int64_t lag) const {
  return relation_ && newest_relation_ && lag <= longest_opening &&
         std::abs(*newest_relation_ - *relation_) < std::min(tolerance, lag / 2);
}

SourceClock::Stretch SourceClock::newest(std::size_t buckets) const {
  Stretch all{.shortest = INT64_MAX};
  for (auto bucket = buckets_.end() - static_cast<std::ptrdiff_t>(buckets); bucket != buckets_.end(); ++bucket) {
    all.shortest = std::min(all.shortest, bucket->lag);
    all.longest = std::max(all.longest, bucket->lag);
    all.span += bucket->span;
    all.waited += bucket->waited;
  }
  all.drained = all.waited * drained_part >= all.span;
  return all;
}

std::optional<SourceClock::Corrected> SourceClock::judge(std::int64_t passed, const Sample& sample) {
  bucket_.lag = std::min(bucket_.lag, lag_);
  bucket_.span += passed;
  bucket_.waited += sample.waited;
  if (++bucket_.samples < bucket_samples || bucket_.span < bucket_span) return std::nullopt;
  buckets_.push_back(bucket_);
  bucket_ = {};
  if (buckets_.size() > buckets_to_outgrow) buckets_.pop_front();
  const std::size_t needed = settled_ ? buckets_to_shift : buckets_to_settle;
  if (buckets_.size() < needed) return std::nullopt;
  const Stretch all = newest(needed);
  if (all.shortest <= longest_lag) {
    slew_ = all.shortest < 0 || all.drained ? all.shortest : 0;
    settled_ = settled_ || all.drained;
    return std::nullopt;
  }
  slew_ = 0;
  if (all.drained && all.longest - all.shortest <= steady) return move_on(sample, all.shortest);
  return outgrown() ? move_on(sample, buckets_.back().lag) : std::nullopt;
}

// The lag grows for long, though the machine keeps up: the camera's clock runs slow, as of one that stamps more frames
// a second than it sends. A lag that shrinks is being caught up.
bool SourceClock::outgrown() const {
  if (buckets_.size() < buckets_to_outgrow) return false;
  const Stretch all = newest(buckets_to_outgrow);
  return all.drained && all.shortest > longest_lag && all.longest - buckets_.back().lag <= steady;
}

std::optional<SourceClock::Corrected> SourceClock::move_on(const Sample& sample, std::int64_t lag) {
  if (says_it_went_on(lag)) return std::nullopt;
  place(sample.source, map(sample.source) + lag);
  settled_ = true;
  lag_ -= lag;
  return Corrected{Correction::stopped, -lag};
}

void SourceClock::follow_drift(std::int64_t passed) {
  const std::int64_t most = passed / (std::abs(slew_) > coarse_error ? coarse_slew : fine_slew);
  const std::int64_t part = std::clamp(slew_, -most, most);
  if (part == 0) return;
  offset_ += part;
  change_lags(-part);
  slew_ -= part;
  drift_ -= part;
}

// Those that wait to be judged, and the first.
void SourceClock::change_lags(std::int64_t by) {
  for (Bucket& bucket : buckets_) bucket.lag += by;
  if (bucket_.samples > 0) bucket_.lag += by;
  if (opening_lag_) *opening_lag_ += by;
}

}  // namespace campipe
