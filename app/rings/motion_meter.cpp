#include "app/rings/motion_meter.h"

#include <algorithm>

#include "ipc/motion_block.h"

namespace campipe {

void MotionMeter::take(const FrameMetadata& frame, std::int64_t pts) {
  const auto score = frame.get<MotionScore>();
  if (!score) return;
  const std::int64_t age = pts - begin_;
  const std::int64_t all = std::ssize(periods_);
  const std::int64_t passed = age < 0 ? all : std::min(age / period, all);
  for (std::int64_t i = 0; i < passed; ++i) {
    std::shift_right(periods_.begin(), periods_.end(), 1);
    periods_.front().reset();
  }
  if (passed > 0) begin_ = pts;
  combine_into(periods_.front(), *score);
  std::optional<MotionScore> recent;
  for (const auto& one : periods_) {
    if (one) combine_into(recent, *one);
  }
  block_.score = recent->score;
  block_.threshold = recent->threshold;
  block_.largest = std::max(block_.largest.load(), score->score);
}

}  // namespace campipe
