// A look at this machine's GPUs by `campipe probe`, a process of its own: whatever the driver does when it is asked, it
// does to no other process. CUDA can be initialised once in a process, so that a GPU that comes later is found only by
// a new one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/mps.h"
#include "app/control/started_process.h"
#include "app/placement/devices.h"
#include "app/probe/probe_messages.h"
#include "core/clock.h"
#include "core/unique_handle.h"

namespace campipe {

// For who starts it. Never waits.
class DeviceProbe {
 public:
  // It is killed when `limit` has passed. Throws Error where it cannot be started.
  DeviceProbe(std::chrono::nanoseconds limit, Mps mps);
  ~DeviceProbe();  // kills it, and does not wait for its end
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;

  // What it has found, once it has ended; where it failed, or was not done in time, `problem` says so. Nothing while it
  // is at it: look again when a descriptor is readable, or the limit has passed.
  std::optional<Devices> look();
  void add_waits(Waits& waits) const;
  [[nodiscard]] Deadline deadline() const { return begun_ + limit_; }
  // Kills it, and waits for its end for at most `longest`: one that hangs in the driver cannot be killed, and is left
  // to itself.
  void end(std::chrono::milliseconds longest);

 private:
  void read_messages();
  void on(const messages::FoundDevices& found);
  void on(const messages::ProbeDone& done);
  void read_log();
  [[nodiscard]] std::string last_words() const;
  [[nodiscard]] Devices failed(const std::string& how) const;

  std::chrono::nanoseconds limit_;
  Clock::time_point begun_ = Clock::now();
  UniqueFd log_read_;
  bool log_closed_ = false;
  std::unique_ptr<StartedProcess> process_;
  std::optional<ExitInfo> ended_;
  std::string log_;
  Devices found_;
  bool complete_ = false;
};

// Tests only (core/pretended_gpus.h): the process that finds GPUs which are pretended. Its exit status.
int run_pretended_probe();

}  // namespace campipe
