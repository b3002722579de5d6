#include "app/source/pacer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace campipe {
namespace {

constexpr double longest_stagger = 1e8;               // ns
constexpr std::int64_t longest_gap = 10'000'000'000;  // ns, in the timestamps; more is not waited for

}  // namespace

// Files that start together would deliver at the same moments for ever, and wait for one another's turn on the cores.
// Real cameras are not in step: the golden ratio spreads any number of them evenly over a frame's time, or a tenth of a
// second if that is shorter.
std::chrono::nanoseconds Pacer::stagger(double frame_rate) const {
  if (frame_rate <= 0) return {};
  const double turns = camera_ * 0.6180339887;
  const double longest = std::min(1e9 / frame_rate, longest_stagger);
  return std::chrono::nanoseconds(static_cast<std::int64_t>((turns - std::floor(turns)) * longest));
}

Clock::time_point Pacer::due(std::int64_t time, double frame_rate) {
  if (!anchor_) {
    anchor_.emplace(Clock::now() + stagger(frame_rate), std::max(time, shown_));
    last_ = time;
  }
  if (std::abs(time - last_) > longest_gap && time > shown_) anchor_.emplace(Clock::now(), time);
  last_ = time;
  return anchor_->first + std::chrono::nanoseconds(time - anchor_->second);
}

}  // namespace campipe
