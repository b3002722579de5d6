// A frame ring's descriptors on their way through control channels: its control memory's, then its pixels', if they
// lie in memory that has one.
#pragma once

#include <vector>

#include "ipc/frame_ring.h"

namespace campipe {

inline std::vector<int> descriptors_of(const FrameRingMemory& memory) {
  std::vector<int> fds{memory.control_fd()};
  if (memory.pixel_fd() >= 0) fds.push_back(memory.pixel_fd());
  return fds;
}

}  // namespace campipe
