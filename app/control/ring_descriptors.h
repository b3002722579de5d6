// A frame ring's descriptors on their way through control channels: its control memory's, then its pixels', if they
// lie in memory that has one.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ipc/frame_ring.h"

namespace campipe {

inline std::vector<int> descriptors_of(const FrameRingMemory& memory) {
  std::vector<int> fds{memory.control_fd()};
  if (memory.pixel_fd() >= 0) fds.push_back(memory.pixel_fd());
  return fds;
}

// Takes them. Throws as FrameRingMemory::open().
inline std::shared_ptr<FrameRingMemory> open_ring(std::vector<UniqueFd>& fds, FrameRingMemory::Role role,
                                                  const Device& gpu = {}) {
  UniqueFd pixels = fds.size() == 2 ? std::move(fds[1]) : UniqueFd();
  return FrameRingMemory::open(std::move(fds.at(0)), std::move(pixels), role, gpu);
}

}  // namespace campipe
