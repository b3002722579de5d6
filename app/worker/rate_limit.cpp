#include "app/worker/rate_limit.h"

#include <algorithm>

namespace campipe {

// A little is forgiven: times are rounded and tremble. What is taken early is made up for by the next.
bool RateLimit::takes(std::int64_t pts) {
  if (interval_ == 0) return true;
  constexpr std::int64_t most_tremble = 20'000'000;
  if (due_ && pts < *due_ - std::min(interval_ / 4, most_tremble)) return false;
  const bool on_time = due_ && pts - *due_ < interval_;
  due_ = (on_time ? *due_ : pts) + interval_;
  return true;
}

}  // namespace campipe
