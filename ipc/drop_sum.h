// All frames that were dropped, whatever the cause.
#pragma once

#include <cstdint>
#include <numeric>

#include "ipc/drop_causes.h"
#include "ipc/drop_counters.h"

namespace campipe {

// Of the causes that there are: what a process wrote behind them is not among the drops by cause, either.
inline std::uint64_t sum(const DropCounters& counters) {
  return std::accumulate(counters.begin(), counters.begin() + drop_causes, std::uint64_t{0},
                         [](std::uint64_t total, const auto& cause) { return total + cause.load(); });
}

}  // namespace campipe
