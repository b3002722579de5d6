#include "app/rings/timeline.h"

#include <algorithm>

namespace campipe {
namespace {}  // namespace

std::int64_t Timeline::end() const { return last_ + std::max(last_duration_, smallest_step); }

void Timeline::set_last(std::int64_t pts, std::int64_t duration) {
  last_ = pts;
  last_duration_ = duration;
}

Timeline::Time Timeline::next(std::optional<Mapped> mapped, std::int64_t duration) {
  Time time;
  if (!mapped) {
    time = {last_ >= 0 ? end() : 0, Correction::missing};
  } else {
    time.pts = last_ >= 0 ? std::max(mapped->at, last_ + smallest_step) : mapped->at;
    // Where the clock was corrected, times that grow may lie behind what was there.
    if (time.pts > mapped->at && last_source_ && mapped->source <= *last_source_) {
      time.correction = mapped->source == *last_source_ ? Correction::repeated : Correction::backwards;
    }
    last_source_ = mapped->source;
  }
  set_last(time.pts, duration);
  return time;
}

}  // namespace campipe
