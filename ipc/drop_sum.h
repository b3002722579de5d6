// All frames that were dropped, whatever the cause.
#pragma once

#include <cstdint>
#include <numeric>

#include "ipc/rig_page.h"

namespace campipe {

inline std::uint64_t sum(const DropCounters& counters) {
  return std::accumulate(counters.begin(), counters.end(), std::uint64_t{0},
                         [](std::uint64_t total, const auto& cause) { return total + cause.load(); });
}

}  // namespace campipe
