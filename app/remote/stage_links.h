// Rules for both ends of the links of a stage or tile on another node.
#pragma once

#include <chrono>
#include <new>

#include "app/config/camera_config.h"
#include "ipc/rig_page.h"

namespace campipe {

// That frames wait for a connection that was lost: those of files, of which none is to be lost as long as it can be
// helped, until a process on the other node has come again.
inline std::chrono::milliseconds reconnection_of(DropPolicy policy) {
  return std::chrono::seconds(policy == DropPolicy::block ? 5 : 0);
}

// What a process before has counted stays, if `again`.
inline LinkCounts& counts_of(LinkBlock& block, bool again) {
  if (!again) new (&block) LinkBlock();
  return block.counts;
}

}  // namespace campipe
