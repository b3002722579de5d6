// The process that tries whether a GPU can be used, as app/probe/device_check, and the one that looks for GPUs, as
// app/probe/device_probe: each answers after a while, and ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "app/control/child_process.h"
#include "app/supervisor/port/gpu_search.h"
#include "tests/sim/gpus.h"
#include "tests/sim/wire.h"

namespace campipe::sim {

class GpuCheck final : public ChildProcess {
 public:
  // `is_killed`: whatever its GPU does.
  GpuCheck(World& world, const Gpus& gpus, const Device& device, pid_t pid, bool is_killed, nanoseconds takes);
  ~GpuCheck() override;

  [[nodiscard]] pid_t pid() const override { return pid_; }
  [[nodiscard]] Clock::time_point started() const override { return started_; }
  bool send(std::string_view, const nlohmann::json&, const std::vector<int>&) override { return false; }
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

  World& world_;
  pid_t pid_;
  Clock::time_point started_;
  std::shared_ptr<Run> run_;  // what is to come keeps it, too
  bool killed_ = false;
};

class SimGpuSearch final : public GpuSearch {
 public:
  SimGpuSearch(const Gpus& gpus, nanoseconds takes) : gpus_(gpus), done_at_(Clock::now() + takes) {}
  std::optional<Devices> look() override;
  void add_waits(Waits& waits) const override { static_cast<void>(waits); }

 private:
  const Gpus& gpus_;
  Clock::time_point done_at_;
};

}  // namespace campipe::sim
