// The supervisor's access to this machine.
#pragma once

#include "app/control/descriptor_limit.h"
#include "app/costs/cost_cache.h"
#include "app/supervisor/port/port.h"
#include "app/supervisor/port/real_log_pipe.h"
#include "app/supervisor/port/real_memory_sampler.h"
#include "app/supervisor/port/real_service_manager.h"
#include "app/supervisor/port/real_terminal.h"

namespace campipe {

class ForkServer;

class RealPort final : public Port {
 public:
  // `signals` and `forks` must outlive it. Throws Error, or std::system_error where there can be no thread.
  RealPort(RigSignals& signals, ForkServer& forks);

  std::unique_ptr<ChildProcess> start(const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& variables) override;
  void refill_reserve() override { reserve_.refill(); }

  void wait(Waits waits, std::chrono::milliseconds longest) override;
  std::optional<RigSignals::Request> next_signal() override { return signals_.next(); }

  LogPipe& log() override { return log_; }
  Terminal& terminal() override { return terminal_; }
  ServiceManager& service() override { return service_; }
  MemorySampler& memory() override { return memory_; }
  std::unique_ptr<ReportWriter> open_report(const std::filesystem::path& file) override;

  [[nodiscard]] bool may_have_gpus() const override;
  GpuSigns look_for_gpu_signs(Mps mps) override;
  std::unique_ptr<GpuSearch> search_gpus(std::chrono::nanoseconds longest, Mps mps) override;

  CoreTimes read_idle_times() override;
  [[nodiscard]] pid_t own_pid() const override;
  [[nodiscard]] double own_cpu_seconds() const override;
  MachineCosts read_costs(const Devices& devices) override;
  void add_costs(MachineCosts& costs, const Gpu& gpu) override;
  std::vector<unsigned char> random_bytes(std::size_t size) override;

 private:
  RigSignals& signals_;
  ForkServer& forks_;
  RealTerminal terminal_;
  RealLogPipe log_;
  RealServiceManager service_;
  RealMemorySampler memory_;
  DescriptorReserve reserve_;  // for starting processes, whatever cameras use
  CostCache costs_;            // read once: later the disk might not answer
};

}  // namespace campipe
