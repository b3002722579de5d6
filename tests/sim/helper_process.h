// What the simulated helper processes of the supervisor have alike: each runs by events, takes no CPU, and has nothing
// to poll, since the supervisor looks in each turn of its loop.
#pragma once

#include <sys/types.h>

#include "app/control/child_process.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class HelperProcess : public ChildProcess {
 public:
  [[nodiscard]] pid_t pid() const override { return pid_; }
  [[nodiscard]] Clock::time_point started() const override { return started_; }
  [[nodiscard]] bool has_unsent() const override { return false; }
  void flush() override {}
  void add_waits(Waits& waits) const override { static_cast<void>(waits); }
  CpuTimes look_at_main_thread() override { return {}; }
  [[nodiscard]] bool any_thread_runs() const override { return false; }
  [[nodiscard]] double cpu_seconds() const override { return 0; }
  [[nodiscard]] bool killed() const override { return killed_; }
  void leave_behind() override { kill(); }

 protected:
  HelperProcess(World& world, pid_t pid) : world_(world), pid_(pid), started_(world.now()) {}

  World& world_;
  bool killed_ = false;

 private:
  pid_t pid_;
  Clock::time_point started_;
};

}  // namespace campipe::sim
