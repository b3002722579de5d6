// What an output in a worker reports, and asks, while it works; called on the camera's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/packet.h"
#include "ipc/ids.h"
#include "ipc/packet_ring.h"

namespace campipe {

struct OutputEvents {
  std::function<void(OutputId output, const PacketRingMemory& ring, std::uint64_t epoch,
                     const StreamParameters& parameters)>
      on_packets;
  std::function<void(OutputId output, const std::string& reason)> on_failed;
  // This process cannot use its GPU any more and must end at once; not expected to return.
  std::function<void(const std::string& reason)> on_gpu_lost;
  std::function<void()> beat;
  std::function<bool()> abandoned;  // stop waiting for room: the process has to leave
};

}  // namespace campipe
