// The process that tries whether a GPU can be used, as app/probe/device_check, and the one that looks for GPUs, as
// app/probe/device_probe: each answers after a while, and ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "app/supervisor/port/gpu_search.h"
#include "tests/sim/gpus.h"
#include "tests/sim/helper_process.h"
#include "tests/sim/wire.h"

namespace campipe::sim {

class GpuCheck final : public HelperProcess {
 public:
  // `is_killed`: whatever its GPU does.
  GpuCheck(World& world, const Gpus& gpus, const Device& device, pid_t pid, bool is_killed, nanoseconds takes);
  ~GpuCheck() override;

  bool send(std::string_view, const nlohmann::json&, const std::vector<int>&) override { return false; }
  std::optional<Message> receive(std::string_view large) override;
  void kill() override;
  std::optional<ExitInfo> reap() override;

 private:
  struct Run;

  std::shared_ptr<Run> run_;  // what is to come keeps it, too
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
