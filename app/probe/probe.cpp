// Looking at this machine's GPUs before there is a rig, by who waits for it.
#include <dlfcn.h>
#include <poll.h>

#include <algorithm>
#include <vector>

#include "app/control/rig_signals.h"
#include "app/placement/devices.h"
#include "app/probe/device_probe.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/pretended_gpus.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
constexpr auto time_to_die = std::chrono::seconds(2);  // after SIGKILL

// Loading it calls nothing: the driver itself wakes up with the first call, which the probe makes.
bool driver_is_here() {
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return false;
  ::dlclose(library);
  return true;
}

void wait(const DeviceProbe& probe, const RigSignals* signals) {
  std::vector<pollfd> waits;
  probe.add_waits(waits);
  if (signals != nullptr) waits.push_back({signals->fd(), POLLIN, 0});
  const auto left = std::chrono::ceil<milliseconds>(probe.deadline() - Clock::now());
  ::poll(waits.data(), waits.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
}

// Throws Error when it cannot be started, or one of `signals` asks to end.
Devices run_to_its_end(DeviceProbe& probe, RigSignals* signals) {
  for (;;) {
    if (signals != nullptr && signals->asks_to_end()) throw Error("stopped by a signal");
    wait(probe, signals);
    if (auto found = probe.look()) return *std::move(found);
  }
}

}  // namespace

Devices probe_devices(std::chrono::nanoseconds deadline, Mps mps, RigSignals* signals) {
  Devices devices;
  const bool pretends = pretended_gpus() > 0;
  if (!with_cuda && !pretends) {
    devices.problem = "built without CUDA";
    return devices;
  }
  if (!pretends && !driver_is_here()) {
    devices.problem = "no NVIDIA driver: there is no libcuda.so.1";
    return devices;
  }
  try {
    DeviceProbe probe(deadline, mps);
    devices = run_to_its_end(probe, signals);
    probe.end(time_to_die);
  } catch (const std::exception& error) {
    devices = {};
    devices.problem = error.what();
  }
  devices.driver = true;
  return devices;
}

}  // namespace campipe
