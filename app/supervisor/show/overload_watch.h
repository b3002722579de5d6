// Whether workers keep up with their cameras: a camera is overloaded when its queue was full for more than one in
// twenty of the frames of the last ten seconds or, where the source waits then, was full all the time; or when its
// stream has come to lie seconds behind, whoever is too slow. It is logged when that begins and ends. Frames that were
// dropped while the worker was away or stood still say nothing about how much it has to do: then the ten seconds begin
// anew. Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "core/clock.h"

namespace campipe {

// Of a camera, so far and now.
struct WorkerLoad {
  std::uint64_t decoded = 0;
  std::uint64_t queue_full = 0;        // dropped, since it was full
  bool is_full = false;                // its source waits for room in it just now, and should not have to
  bool may_copy = true;                // it could have codec `copy`
  std::chrono::nanoseconds behind{0};  // fallen_behind()
  bool may_drop = false;               // its source waits, and could have `drop_policy: drop`
  // The process of its worker: how often it was started anew, and whether it does nothing just now, as one does that
  // was stopped, hangs, is not there, or waits for another one or another node.
  unsigned restarts = 0;
  bool is_still = false;
};

struct Overload {
  std::string problem = {};    // what is wrong, and what to do; empty: it keeps up
  std::int64_t since_utc = 0;  // that there is one
};

class OverloadWatch {
 public:
  // To be called about once a second.
  const Overload& look_at(const std::string& camera, unsigned worker, const WorkerLoad& load,
                          Clock::time_point now = Clock::now());

 private:
  struct Window {
    Clock::time_point begin;
    std::uint64_t decoded = 0;
    std::uint64_t queue_full = 0;
    unsigned restarts = 0;
    bool always_full = true;
    Overload overload;
  };
  std::map<std::string, Window> windows_;
};

}  // namespace campipe
