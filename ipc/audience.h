// Who watches an output, in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace campipe {

// By the publisher.
struct Audience {
  std::atomic<std::uint32_t> watches;   // 1: there are viewers
  std::atomic<std::uint32_t> arrivals;  // one more for each new viewer, for whom a key frame is to come soon
};

}  // namespace campipe
