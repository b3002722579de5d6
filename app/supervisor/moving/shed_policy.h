// Which camera gives way where a device has too much to do: pure functions of counters and times, so that it can be
// tested without processes.
//
// A camera is late when more than one in twenty of its frames found its queue full in a window of two seconds. Then one
// of the lowest priority on that device takes a step (app/control/shed_step.h), unless no other one there has a higher
// priority; all of that priority take a step before one takes the next. When nobody has been late for a while, the last
// to give way takes a step back, those of the highest priority first. Where that proves to be too early, the wait for
// the next step back doubles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/control/shed_step.h"
#include "core/clock.h"

namespace campipe {

class ShedPolicy {
 public:
  // A camera that runs.
  struct Load {
    std::string camera;
    std::string device;  // those on one share its time
    int priority = 0;
    ShedStep step = ShedStep::none;  // that it is at
    bool may_shed = true;
    std::uint64_t came = 0;  // frames so far,
    std::uint64_t late = 0;  // and those of them that found its queue full
    bool may_move = false;   // its worker may get rid of some work: nobody gives way for it meanwhile
  };
  struct Change {
    std::string camera;
    ShedStep step;
    std::string late;  // who is; empty: nobody, it takes a step back
  };

  // To be called a few times a second.
  std::vector<Change> look_at(const std::vector<Load>& loads, Clock::time_point now);
  // Of cameras on one device that is too small for them: the first that gives way. Nothing: none may.
  static std::optional<std::string> first_to_go(const std::vector<Load>& loads);

 private:
  struct Counted {
    std::uint64_t came = 0;
    std::uint64_t late = 0;
  };
  struct Device {
    Clock::time_point window;                 // its begin
    std::map<std::string, Counted> counted;   // then, by camera
    Clock::time_point quiet;                  // since then nobody was late, or a step was taken back
    std::optional<Clock::time_point> undone;  // the last step back
    Clock::duration patience{};               // until the next one
  };
  std::optional<Change> judge(Device& device, const std::vector<const Load*>& loads, Clock::time_point now);
  static void begin_window(Device& device, const std::vector<const Load*>& loads, Clock::time_point now);

  std::map<std::string, Device> devices_;
};

}  // namespace campipe
