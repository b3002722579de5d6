// What the supervisor asks of the machine about GPUs that it awaits.
#pragma once

#include <optional>
#include <string>

#include "app/control/waits.h"
#include "app/placement/devices.h"
#include "app/placement/preflight.h"

namespace campipe {

// What can be seen of GPUs without asking their driver.
struct GpuSigns {
  GpuFiles files;
  std::string mps;  // why the MPS daemon cannot be reached; empty: it can, or is not asked for
  friend bool operator==(const GpuSigns&, const GpuSigns&) = default;
};

// A process that asks the driver (app/probe/device_probe.h). Destroying it ends the process, and does not wait for
// that.
class GpuSearch {
 public:
  GpuSearch() = default;
  GpuSearch(const GpuSearch&) = delete;
  GpuSearch& operator=(const GpuSearch&) = delete;
  virtual ~GpuSearch() = default;

  // What it has found, once; where it failed, `problem` says so. Nothing while it searches. To be called when one of
  // its waits is over, and a few times a second.
  virtual std::optional<Devices> look() = 0;
  virtual void add_waits(Waits& waits) const = 0;
};

}  // namespace campipe
