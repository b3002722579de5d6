// Steps of a loop that must go on whatever happens in one of them: what a step throws is logged, and the loop's next
// step follows. Used by one thread.
#pragma once

#include <exception>
#include <map>
#include <string>

#include "core/clock.h"
#include "core/log.h"

namespace campipe {

class StepGuard {
 public:
  // `what` completes "cannot …". False: the step threw.
  template <typename Step>
  bool run(const char* what, const Step& step) noexcept {
    try {
      step();
      return true;
    } catch (const std::exception& error) {
      log(what, error.what());
    } catch (...) {
      log(what, "an exception of an unknown type");
    }
    return false;
  }

 private:
  // A step that fails in every turn of the loop must not fill the log.
  void log(const char* what, const char* why) noexcept {
    constexpr auto interval = std::chrono::seconds(10);
    try {
      const auto now = Clock::now();
      const auto [next, is_new] = next_.try_emplace(what, now);
      if (now < next->second) return;
      next->second = now + interval;
      spdlog::error("cannot {}: {}; the rig goes on", what, why);
    } catch (...) {  // no memory even for this line
    }
  }

  std::map<std::string, Clock::time_point> next_;  // log line, by step
};

}  // namespace campipe
