#include "app/master/set_numbering.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace campipe {
namespace {

constexpr double gain = 0.02;
constexpr double step_gain = 0.05;
constexpr double clearly_more = 0.75;   // sets from frame to frame: with less, the camera has frames to leave out
constexpr double longest_phase = 0.75;  // sets; more than a half, so that no phase slips to and fro
constexpr std::int64_t longest_without = 1'000'000'000;  // ns; after more its clock may be another one

}  // namespace

std::optional<std::int64_t> SetNumbering::number_of(std::int64_t media_time) {
  const auto before = std::exchange(last_time_, media_time);
  if (before && std::abs(media_time - *before) > longest_without) lock_anew();
  if (before && phase_) measure_step(static_cast<double>(media_time - *before) * 1e-9 * rate_);
  const double at = static_cast<double>(media_time) * 1e-9 * rate_;  // exact to some 1/100,000 of a set until 2262
  const std::int64_t number = std::llround(at - phase_.value_or(home_));
  const double behind = at - static_cast<double>(number);
  const bool has_more = step_ && *step_ < clearly_more;
  const bool next_is_nearer = has_more && behind - phase_.value_or(home_) < -*step_ / 2;
  const bool is_taken = (last_number_ && number <= *last_number_) || next_is_nearer;
  if (!is_taken || !has_more) follow(behind);  // else it tells nothing of those that are given
  if (is_taken) return std::nullopt;
  last_number_ = number;
  return number;
}

// One that was lost makes a longer step.
void SetNumbering::measure_step(double sets) {
  const double step = std::clamp(sets, 0.0, 1.0);
  step_ = step_ ? *step_ + step_gain * (step - *step_) : step;
}

void SetNumbering::follow(double behind) {
  if (!phase_) {
    phase_ = behind;
    return;
  }
  *phase_ += gain * (behind - *phase_);
  if (std::abs(*phase_ - home_) <= longest_phase) return;
  *phase_ -= std::copysign(1, *phase_ - home_);
  ++slips_;
}

}  // namespace campipe
