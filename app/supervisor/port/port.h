// The room `port` is the supervisor's access to the machine: processes, signals, the terminal, the kernel's figures,
// files. RealPort (real_port.h) implements it for this machine, and a simulation for an imagined one. Outside of it
// the supervisor makes no system call, reads and writes no file, and draws no random number
// (tests/unit/port_rule_test.cpp). It includes no other room. The loop, `show`, `cluster`, `moving` and `faults` may
// call it.
//
// Used by the supervisor's thread. Calls do not wait, but for wait() and those that say so.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/mps.h"
#include "app/control/child_process.h"
#include "app/control/core_times.h"
#include "app/control/rig_signals.h"
#include "app/placement/machine_costs.h"
#include "app/supervisor/port/gpu_search.h"
#include "app/supervisor/port/log_pipe.h"
#include "app/supervisor/port/memory_sampler.h"
#include "app/supervisor/port/report_writer.h"
#include "app/supervisor/port/service_manager.h"
#include "app/supervisor/port/terminal.h"

namespace campipe {

class Port {
 public:
  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  // Starts this program as `arguments`: a process of the rig, or a helper. It gets descriptors from a reserve where
  // cameras use up all others. Throws Error.
  virtual std::unique_ptr<ChildProcess> start(const std::vector<std::string>& arguments,
                                              const std::vector<std::string>& variables) = 0;
  // start(), for what starts a process itself. The port must outlive it.
  [[nodiscard]] StartProcess starter() {
    return [this](const auto& arguments, const auto& variables) { return start(arguments, variables); };
  }
  // To be called with each tick: the reserve has all its descriptors again, if the system has them.
  virtual void refill_reserve() = 0;

  // Returns when something of `waits` is ready, a signal or a log line has come, or `longest` has passed.
  virtual void wait(Waits waits, std::chrono::milliseconds longest) = 0;
  virtual std::optional<RigSignals::Request> next_signal() = 0;

  virtual LogPipe& log() = 0;
  virtual Terminal& terminal() = 0;
  virtual ServiceManager& service() = 0;
  virtual MemorySampler& memory() = 0;
  // Throws std::system_error.
  virtual std::unique_ptr<ReportWriter> open_report(const std::filesystem::path& file) = 0;

  // GPUs may come.
  [[nodiscard]] virtual bool may_have_gpus() const = 0;
  virtual GpuSigns look_for_gpu_signs(Mps mps) = 0;
  // The process that searches is killed when `longest` has passed. Throws Error where it cannot be started.
  virtual std::unique_ptr<GpuSearch> search_gpus(std::chrono::nanoseconds longest, Mps mps) = 0;

  // Empty where the kernel does not report them.
  virtual CoreTimes read_idle_times() = 0;
  [[nodiscard]] virtual pid_t own_pid() const = 0;
  // Processor time of this process.
  [[nodiscard]] virtual double own_cpu_seconds() const = 0;
  // What work costs on these devices, as it was measured or is estimated. Waits for a disk: to be called before the rig
  // runs.
  virtual MachineCosts read_costs(const Devices& devices) = 0;
  // Likewise of a GPU that has come, from what read_costs() has read.
  virtual void add_costs(MachineCosts& costs, const Gpu& gpu) = 0;
  // Throws Error.
  virtual std::vector<unsigned char> random_bytes(std::size_t size) = 0;
};

}  // namespace campipe
