// The process that reads the configuration, or writes its overlay, as app/load: it announces each step, sends what came
// of it, and ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string_view>

#include "app/control/child_process.h"
#include "tests/sim/change.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Owner;

class LoadChild final : public ChildProcess {
 public:
  LoadChild(World& world, Owner& owner, pid_t pid, LoadTrouble trouble, Chance chance);
  ~LoadChild() override;

  [[nodiscard]] pid_t pid() const override { return pid_; }
  [[nodiscard]] Clock::time_point started() const override { return started_; }
  bool send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) override;
  [[nodiscard]] bool has_unsent() const override { return false; }
  void flush() override {}
  std::optional<Message> receive(std::string_view large) override;
  // Nothing to poll: the supervisor looks in each turn of its loop.
  void add_waits(Waits& waits) const override { static_cast<void>(waits); }
  CpuTimes look_at_main_thread() override { return {}; }
  [[nodiscard]] bool any_thread_runs() const override { return false; }
  [[nodiscard]] double cpu_seconds() const override { return 0; }
  void kill() override;
  [[nodiscard]] bool killed() const override { return killed_; }
  void leave_behind() override { kill(); }
  std::optional<ExitInfo> reap() override;

 private:
  struct Run;

  void note_taken();

  World& world_;
  pid_t pid_;
  Clock::time_point started_;
  std::shared_ptr<Run> run_;  // what is to come keeps it, too
  bool killed_ = false;
  bool heard_ = false;   // the supervisor has what it has read,
  bool reaped_ = false;  // and its end
};

}  // namespace campipe::sim
