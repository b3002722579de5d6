// How long to wait before something that failed is tried again: from `first` on doubling up to `most`, each time up to
// a fifth shorter or longer, so that cameras that went away together do not come back in step.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace campipe {

class RetryWait {
 public:
  RetryWait(std::chrono::nanoseconds first, std::chrono::nanoseconds most) : first_(first), most_(most), next_(first) {}

  // `patient`: nothing will change soon (a wrong password); the longest wait at once.
  std::chrono::nanoseconds next(bool patient) {
    const auto base = patient ? most_ : next_;
    next_ = std::min(2 * next_, most_);
    const double factor = std::uniform_real_distribution<double>(0.8, 1.2)(random_);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(base.count()) * factor));
  }
  // It worked for a while.
  void reset() { next_ = first_; }

 private:
  std::chrono::nanoseconds first_;
  std::chrono::nanoseconds most_;
  std::chrono::nanoseconds next_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace campipe
