#include "app/supervisor/rig/thread_watch.h"

#include <algorithm>

namespace campipe {
namespace {

// A thread that works uses more in any 10 s; one that only looks now and then whether it may go on may use less.
constexpr std::int64_t progress = 10'000'000;

// A heartbeat that cannot be (in the future) was none: the thread counts as silent since the last one, or for ever. The
// others are such that no difference of two of them overflows.
ThreadWatch::Signs possible(const ThreadWatch::Signs& signs, std::int64_t last_beat, std::int64_t now) {
  constexpr std::int64_t slack = 1'000'000'000;
  const std::int64_t beat = signs.beat > now + slack ? std::max<std::int64_t>(last_beat, 1) : signs.beat;
  return {std::max<std::int64_t>(beat, 0), std::max<std::int64_t>(signs.wait_until, 0),
          std::max<std::int64_t>(signs.cpu_time, 0), std::max<std::int64_t>(signs.cpu_waited, 0)};
}

}  // namespace

std::optional<std::chrono::nanoseconds> ThreadWatch::hung(const Signs& given, std::int64_t now) {
  const Signs signs = possible(given, beat_, now);
  if (signs.beat != beat_ || signs.beat == 0) {
    beat_ = active_ = signs.beat;
    used_ = used_then_ = excused_ = 0;
    cpu_time_ = signs.cpu_time;
    cpu_waited_ = signs.cpu_waited;
    looked_ = now;
  }
  if (signs.beat == 0) return std::nullopt;
  // Less than before: a codec's thread has ended.
  used_ += std::clamp<std::int64_t>(signs.cpu_time - cpu_time_, 0, limits_.busy.count());
  cpu_time_ = signs.cpu_time;
  // No more than the time that has passed, whatever is said.
  excused_ += std::clamp<std::int64_t>(signs.cpu_waited - cpu_waited_, 0, std::max<std::int64_t>(now - looked_, 0));
  cpu_waited_ = signs.cpu_waited;
  looked_ = now;
  const std::int64_t counted = now - excused_;
  if (used_ - used_then_ >= progress) {
    used_then_ = used_;
    active_ = counted;
  }
  const std::int64_t expected = std::max(signs.beat, signs.wait_until);
  const bool idle = counted - std::max(active_, expected) >= limits_.idle.count();
  const bool busy = used_ >= limits_.busy.count() && counted - signs.beat >= limits_.busy.count();
  const bool too_long = counted - expected >= limits_.longest.count();
  if (!idle && !busy && !too_long) return std::nullopt;
  return std::chrono::nanoseconds(now - signs.beat);
}

}  // namespace campipe
