// What the shared page holds of an output (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/audience.h"
#include "ipc/histogram.h"
#include "ipc/ids.h"

namespace campipe {

// What the supervisor passes on of an output from one process's page to the others.
struct alignas(64) SharedBlock {
  using Id = OutputId;
  Audience audience;                     // for workers
  std::atomic<std::int64_t> push_until;  // of a node of a cluster, for the publisher: monotonic ns
  SharedHistogram latency, transit, decode, queue, filter, encode, overhead;  // for the publisher's metrics
};

}  // namespace campipe
