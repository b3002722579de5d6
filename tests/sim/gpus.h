// The GPUs of the simulated machine. What runs on one runs on the CPU, as on a pretended one (core/pretended_gpus.h).
// One may be away for a while: processes on it lose their contexts, and others cannot begin there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "app/placement/devices.h"
#include "core/gpu.h"
#include "tests/sim/fault.h"
#include "tests/sim/world.h"

namespace campipe::sim {

// What is wrong with a GPU that is away.
enum class GpuTrouble : std::uint8_t {
  none,
  fails,      // who begins to use it ends; a check says why
  hangs,      // who begins to use it, a check too, waits until it is back
  crashes,    // likewise, a check dies
  unchecked,  // no check can be started
  forgets,    // a check finds nothing, and each context is lost soon
};
GpuTrouble trouble_of(const Fault& away);

class Gpus {
 public:
  Gpus(const World& world, unsigned count) : world_(world), count_(count) {}

  [[nodiscard]] unsigned count() const { return count_; }
  // By its number, modulo those that there are.
  [[nodiscard]] std::optional<Device> device_of(std::uint64_t number) const;
  // As a probe finds them: those that are not away.
  [[nodiscard]] Devices found() const;

  void take_away(const Device& device, GpuTrouble trouble, Clock::time_point until);
  // Just now.
  [[nodiscard]] GpuTrouble trouble_of(const Device& device) const;
  [[nodiscard]] Clock::time_point back_at(const Device& device) const;

 private:
  struct Absence {
    GpuTrouble trouble = GpuTrouble::none;
    Clock::time_point until;
  };

  const World& world_;
  unsigned count_;
  std::map<unsigned, Absence> away_;
};

}  // namespace campipe::sim
