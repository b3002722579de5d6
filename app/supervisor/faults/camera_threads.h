// The threads that a process has for a camera, each with the block in which it beats and the watch over it: the source
// one that reads it, the master one that decodes it, a worker one for each of its nodes, the publisher one for each of
// its outputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "app/supervisor/processes/process.h"
#include "app/supervisor/rig/camera.h"

namespace campipe {

class RigPage;
struct ThreadBlock;

struct CameraThread {
  Output& output;  // whose it is: but for those in the publisher the camera's own stream
  ThreadBlock& block;
  ThreadWatch& watch;

  // To be called several times a second. For how long it has been silent, if it hangs. `others_waited`: ns for which
  // its process's main thread, which reports the times of the others, waited for a CPU itself.
  std::optional<std::chrono::nanoseconds> hung(std::int64_t others_waited, std::int64_t now);
};

// Those with which the process still has work. The camera outlives them, and the page.
std::vector<CameraThread> threads_of(const ManagedProcess& process, Camera& camera, const RigPage& page);

}  // namespace campipe
