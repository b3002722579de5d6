// Looks whether GPUs that the rig awaits (app/placement/missing_gpus.h) have come: 10 s after the start, then after
// twice as long each time, up to 5 min; and at once when their files, or the MPS daemon, have come or gone. Each look
// is a process of its own (app/probe/device_probe.h). Used by the supervisor's thread, for which it never waits.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "app/config/mps.h"
#include "app/placement/devices.h"
#include "app/supervisor/port/port.h"
#include "core/clock.h"

namespace campipe {

class GpuArrivals {
 public:
  GpuArrivals(Port& port, Mps mps) : port_(port), mps_(mps) {}

  // To be called several times a second while a GPU is awaited. What a look found, once; nothing: it is not the time.
  std::optional<Devices> look(Clock::time_point now);
  // None is awaited any more: the next one that is begins anew.
  void stop();
  void add_waits(Waits& waits) const;

 private:
  void look_at_signs(Clock::time_point now);

  Port& port_;
  Mps mps_;
  std::optional<GpuSigns> signs_;
  Clock::time_point next_signs_{};
  Clock::time_point next_{};
  Clock::duration wait_{};
  std::unique_ptr<GpuSearch> search_;
};

}  // namespace campipe
