#include "app/master/set_numbering.h"

#include <cmath>
#include <cstdlib>
#include <utility>

namespace campipe {
namespace {

constexpr double gain = 0.02;
constexpr double longest_phase = 0.75;                   // sets; more than a half, so that no phase slips to and fro
constexpr std::int64_t longest_without = 1'000'000'000;  // ns; after more its clock may be another one

}  // namespace

std::optional<std::int64_t> SetNumbering::number_of(std::int64_t media_time) {
  const auto before = std::exchange(last_time_, media_time);
  if (before && std::abs(media_time - *before) > longest_without) lock_anew();
  const double at = static_cast<double>(media_time) * 1e-9 * rate_;  // exact to some 1/100,000 of a set until 2262
  const std::int64_t number = std::llround(at - phase_.value_or(0));
  follow(at - static_cast<double>(number));
  if (last_number_ && number <= *last_number_) return std::nullopt;
  last_number_ = number;
  return number;
}

void SetNumbering::follow(double behind) {
  if (!phase_) {
    phase_ = behind;
    return;
  }
  *phase_ += gain * (behind - *phase_);
  if (std::abs(*phase_) <= longest_phase) return;
  *phase_ -= std::copysign(1, *phase_);
  ++slips_;
}

}  // namespace campipe
