// Looks whether GPUs that the rig awaits (app/placement/missing_gpus.h) have come: 10 s after the start, then after
// twice as long each time, up to 5 min; and at once when their files, or the MPS daemon, have come or gone. Each look
// is a process of its own (app/probe/device_probe.h). Used by the supervisor's thread, for which it never waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/mps.h"
#include "app/placement/devices.h"
#include "app/placement/preflight.h"
#include "app/probe/device_probe.h"
#include "core/clock.h"

namespace campipe {

class GpuArrivals {
 public:
  explicit GpuArrivals(Mps mps) : mps_(mps) {}

  // To be called several times a second while a GPU is awaited. What a look found, once; nothing: it is not the time.
  std::optional<Devices> look(Clock::time_point now);
  // None is awaited any more: the next one that is begins anew.
  void stop();
  void add_waits(Waits& waits) const;

 private:
  // What of GPUs can be seen without asking the driver.
  struct Signs {
    GpuFiles files;
    std::string mps;  // why the daemon cannot be reached
    friend bool operator==(const Signs&, const Signs&) = default;
  };
  void look_at_signs(Clock::time_point now);

  Mps mps_;
  std::optional<Signs> signs_;
  Clock::time_point next_signs_{};
  Clock::time_point next_{};
  Clock::duration wait_{};
  std::optional<DeviceProbe> probe_;
};

}  // namespace campipe
