#include "app/rings/motion_meter.h"

#include <algorithm>

namespace campipe {

void MotionMeter::take(const MotionScore& score, std::int64_t pts) {
  const std::int64_t age = pts - begin_;
  const std::int64_t all = std::ssize(periods_);
  const std::int64_t passed = age < 0 ? all : std::min(age / period, all);
  for (std::int64_t i = 0; i < passed; ++i) {
    std::shift_right(periods_.begin(), periods_.end(), 1);
    periods_.front().reset();
  }
  if (passed > 0) begin_ = pts;
  periods_.front() = highest(periods_.front(), score);
  std::optional<MotionScore> recent;
  for (const auto& one : periods_) recent = highest(recent, one);
  block_.score = recent->score;
  block_.threshold = recent->threshold;
  block_.largest = std::max(block_.largest.load(), score.score);
}

}  // namespace campipe
