#include "app/timeline.h"

#include <algorithm>

namespace campipe {
namespace {

constexpr std::int64_t smallest_step = 1'000'000;          // between pictures whose times do not grow
constexpr std::int64_t longest_file_gap = 10'000'000'000;  // more is no gap but another clock
constexpr std::int64_t longest_live_lead = 2'000'000'000;  // of a live source's time over its arrival
constexpr std::int64_t longest_slip = 500'000'000;         // backwards; more is another clock
constexpr std::int64_t drift_window = 10'000'000'000;

}  // namespace

const char* name_of(Mended kind) {
  switch (kind) {
    case Mended::missing:
      return "missing";
    case Mended::repeated:
      return "repeated";
    case Mended::backwards:
      return "backwards";
    case Mended::jumped:
      return "jumped";
  }
  return "";
}

void Timeline::begin(std::int64_t source, std::int64_t at) {
  offset_ = at - source;
  anchored_ = true;
  reconnected_ = false;
}

std::int64_t Timeline::end() const { return last_ + std::max(last_duration_, smallest_step); }

void Timeline::set_last(std::int64_t pts, std::int64_t duration) {
  last_ = pts;
  last_duration_ = duration;
}

// Never before the end of the last picture's smallest step.
std::int64_t Timeline::due(std::int64_t arrival) const {
  if (last_ < 0) return 0;
  if (live_ && last_arrival_ != 0) return std::max(last_ + (arrival - last_arrival_), last_ + smallest_step);
  return end();
}

std::optional<std::int64_t> Timeline::map_beside(std::int64_t source, std::int64_t arrival) const {
  if (!anchored()) return std::nullopt;
  const std::int64_t at = map(source);
  if (live_ && last_ >= 0 && at - due(arrival) > longest_live_lead) return std::nullopt;
  return at;
}

void Timeline::watch_clock(std::int64_t source, std::int64_t arrival) {
  const std::int64_t way = arrival - source;
  if (!window_ || arrival - window_->begin >= drift_window) {
    if (window_ && !first_shortest_) first_shortest_ = window_->shortest;
    if (window_ && first_shortest_) drift_ = *first_shortest_ - window_->shortest;
    window_ = Window{arrival, way};
  }
  window_->shortest = std::min(window_->shortest, way);
}

Timeline::Time Timeline::next(std::optional<std::int64_t> source, std::int64_t duration, std::int64_t arrival) {
  Time time;
  const bool follows = last_ >= 0;
  if (!source) {
    time = {follows ? end() : 0, Mended::missing};
  } else if (!anchored_ || reconnected_) {
    time.pts = due(arrival);
    begin(*source, time.pts);
    window_.reset();
    first_shortest_.reset();
    drift_ = 0;
  } else {
    time.pts = map(*source);
    const std::int64_t ahead = live_ ? time.pts - due(arrival) : time.pts - end();
    if (follows && time.pts <= last_) {
      time.mended = time.pts == last_ ? Mended::repeated : Mended::backwards;
    } else if (follows && ahead > (live_ ? longest_live_lead : longest_file_gap)) {
      time.mended = Mended::jumped;
    }
    const bool slip = time.mended == Mended::backwards && last_ - time.pts < longest_slip;
    if (time.mended == Mended::repeated || slip) {
      time.pts = last_ + smallest_step;  // the next ones will be right again
    } else if (time.mended) {
      time.pts = due(arrival);
      begin(*source, time.pts);
    }
  }
  if (source && live_ && !time.mended) watch_clock(*source, arrival);
  if (time.mended && time.mended != Mended::missing && time.mended != Mended::repeated) window_.reset();
  last_ = time.pts;
  last_duration_ = duration;
  last_arrival_ = arrival;
  return time;
}

}  // namespace campipe
