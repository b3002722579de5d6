// What a node counts of an output that it encodes, in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/accusation.h"
#include "ipc/counters.h"
#include "ipc/drop_counters.h"
#include "ipc/histogram.h"
#include "ipc/ids.h"
#include "ipc/motion_block.h"

namespace campipe {

// Sets of a synchronised group about which a member has decided: those of all members together are the group's.
struct DecidedSets {
  std::atomic<std::uint64_t> encoded;
  std::atomic<std::uint64_t> dropped;
  std::atomic<std::uint64_t> out_of_tolerance;
  SharedHistogram skew;  // between the first and the last frame of a set
};

// An output that is encoded, by its node.
struct alignas(64) EncodeBlock {
  using Id = OutputId;
  Accusation accusation;
  Counters counters;
  DropCounters dropped;
  MotionBlock motion;
  SharedHistogram latency;  // transit, where that is known, and arrival → encoded
  SharedHistogram transit;  // see core/frame_age.h
  SharedHistogram filter;
  SharedHistogram encode;
  SharedHistogram overhead;  // latency less transit, decode, filter and encode
  DecidedSets sets;
};

}  // namespace campipe
