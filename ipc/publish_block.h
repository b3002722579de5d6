// What the publisher counts of an output in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/accusation.h"
#include "ipc/audience.h"
#include "ipc/counters.h"
#include "ipc/ids.h"
#include "ipc/motion_block.h"
#include "ipc/record_state.h"
#include "ipc/thread_block.h"

namespace campipe {

// Any output, by its thread in the publisher.
struct alignas(64) PublishBlock {
  using Id = OutputId;
  ThreadBlock thread;
  Accusation accusation;
  Counters counters;
  Audience audience;
  std::atomic<std::uint32_t> pushing;  // of a node of a cluster: connections to push targets, see PushPermit
  OpenMotion motion;
  RecordState record;
};

}  // namespace campipe
