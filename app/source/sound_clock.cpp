#include "app/source/sound_clock.h"

#include <algorithm>
#include <cstdlib>

#include "app/source/source_clock.h"
#include "core/nanoseconds.h"

namespace campipe {
namespace {

constexpr std::int64_t lag_span = 3 * ns_per_s;     // long enough for some frames of a slow camera
constexpr std::int64_t set_back = 500 * ns_per_ms;  // a clock that does that is another one
constexpr std::int64_t learning = 3 * ns_per_s;
constexpr std::int64_t least_followed = 60 * ns_per_ms;  // what less may be, the network does
constexpr std::int64_t close_enough = 10 * ns_per_ms;
constexpr std::int64_t slew = 20;               // of the time: the part by which it is moved
constexpr std::int64_t far = 300 * ns_per_ms;   // is no drift
constexpr std::int64_t longest_far = ns_per_s;  // the video may show the same a little later
constexpr std::int64_t largest_lag = std::int64_t{1} << 60;

}  // namespace

void ShortestLag::add(std::int64_t source, std::int64_t arrival) {
  if (source_ && source - *source_ < -set_back) lags_.clear();
  source_ = source;
  const std::int64_t lag = arrival - source;
  while (!lags_.empty() && lags_.back().lag >= lag) lags_.pop_back();
  lags_.push_back({arrival, lag});
  while (arrival - lags_.front().arrival > lag_span) lags_.pop_front();
}

std::optional<std::int64_t> ShortestLag::get() const {
  return lags_.empty() ? std::nullopt : std::optional(lags_.front().lag);
}

std::optional<std::int64_t> SoundClock::place(std::int64_t source, std::int64_t arrival, const SourceClock& video) {
  if (!video.is_live()) return video.map_beside(source, arrival);
  const auto video_lag = video_lag_.get();
  if (!video.is_anchored() || !video_lag) return std::nullopt;
  sound_lag_.add(source, arrival);
  const std::int64_t difference = std::clamp(*sound_lag_.get() - *video_lag, -largest_lag, largest_lag);
  if (!usual_) {
    // Sound that counts from elsewhere is placed by its arrival from the beginning.
    const bool fits = video.map_beside(source, arrival).has_value();
    learned_ = !fits;
    usual_ = fits ? difference : 0;
    known_since_ = newest_ = arrival;
  }
  if (learned_) {
    follow(difference - *usual_, arrival);
  } else if (video.is_of_now(source, arrival)) {
    usual_ = difference;
    learned_ = arrival - known_since_ >= learning;
  } else {
    known_since_ = arrival;  // the sound does not show yet what the video's clock was set by
  }
  newest_ = arrival;
  const auto at = video.map_beside(source + moved_, arrival);
  if (at && !realign_) return at;
  moved_ = difference - (learned_ && !realign_ ? *usual_ : 0);
  usual_ = difference - moved_;
  learned_ = true;
  realign_ = false;
  follows_ = false;
  far_since_.reset();
  ++replaced_;
  return video.map_beside(source + moved_, arrival);
}

// `difference`: by how much it is to be moved in all.
void SoundClock::follow(std::int64_t difference, std::int64_t arrival) {
  const std::int64_t off = difference - moved_;
  if (std::abs(off) <= far) {
    far_since_.reset();
  } else if (!far_since_) {
    far_since_ = arrival;
  } else if (arrival - *far_since_ >= longest_far) {
    moved_ = difference;
    ++replaced_;
    far_since_.reset();
  }
  if (std::abs(off) > least_followed) follows_ = true;
  if (std::abs(off) < close_enough) follows_ = false;
  const std::int64_t most = std::max<std::int64_t>(arrival - newest_, 0) / slew;
  if (follows_) moved_ += std::clamp(difference - moved_, -most, most);
}

}  // namespace campipe
