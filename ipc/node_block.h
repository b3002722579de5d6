// What a node counts in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/counters.h"
#include "ipc/drop_counters.h"
#include "ipc/ids.h"
#include "ipc/thread_block.h"

namespace campipe {

// The clock of a node that makes frames at times of its own: tick k is at first + k / rate. It goes on in the next
// process.
struct TickClock {
  std::atomic<std::int64_t> first;         // monotonic ns; 0: it has not begun
  std::atomic<std::int64_t> media_offset;  // media time less the time since the first tick
  std::atomic<std::uint64_t> ticks;        // those that have come, and are a frame or `skipped`
  DropCounters skipped;                    // noted behind `ticks`
};

// A node, by its thread.
struct alignas(64) NodeBlock {
  using Id = NodeId;
  ThreadBlock thread;
  Counters counters;
  TickClock clock;  // of a mosaic
};

}  // namespace campipe
