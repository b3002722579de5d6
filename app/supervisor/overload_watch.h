// Whether workers keep up with their cameras: a camera is overloaded when its queue was full for more than one in
// twenty of the frames of the last ten seconds. It is logged when that begins and ends. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/clock.h"

namespace campipe {

class OverloadWatch {
 public:
  // To be called about once a second. `decoded`, `queue_full`: of the camera so far. Returns what is wrong, and what to
  // do; empty: it keeps up.
  const std::string& look_at(const std::string& camera, unsigned worker, std::uint64_t decoded,
                             std::uint64_t queue_full, Clock::time_point now = Clock::now());

 private:
  struct Window {
    Clock::time_point begin;
    std::uint64_t decoded = 0;
    std::uint64_t queue_full = 0;
    std::string problem;
  };
  std::map<std::string, Window> windows_;
};

}  // namespace campipe
