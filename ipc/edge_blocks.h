// What both ends of an edge count in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/accusation.h"
#include "ipc/counters.h"
#include "ipc/drop_counters.h"
#include "ipc/histogram.h"
#include "ipc/ids.h"
#include "ipc/link_counts.h"

namespace campipe {

// An edge, by who writes its frames: the thread that decodes its camera, or a node's.
struct alignas(64) EdgeWriterBlock {
  using Id = EdgeId;
  Accusation accusation;
  Counters counters;
  DropCounters unpublished;                // of a node: also what its filters left out
  std::atomic<std::uint64_t> newest_drop;  // of a source's: see ipc/drop_note.h
};

// An edge, by the node that reads it.
struct alignas(64) EdgeReaderBlock {
  using Id = EdgeId;
  Accusation accusation;
  Counters counters;
  SharedHistogram queue;  // decoded → taken by the node
};

// An edge from or to another machine, by the thread of its end here. Of a node whose work another machine does, it is
// the edge that the node writes: `counts` of the link by which frames come back, `there` of that by which they go.
struct alignas(64) LinkBlock {
  using Id = EdgeId;
  LinkCounts counts;
  LinkCounts there;
};

}  // namespace campipe
