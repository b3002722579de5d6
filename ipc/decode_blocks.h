// What a master counts of its cameras in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/accusation.h"
#include "ipc/counters.h"
#include "ipc/histogram.h"
#include "ipc/ids.h"
#include "ipc/motion_block.h"
#include "ipc/thread_block.h"

namespace campipe {

// How the frames of a member of a synchronised group lie to the group's sets.
struct SetHealth {
  std::atomic<std::int64_t> move;   // ns by which a file's times are moved to those of its group
  std::atomic<std::int64_t> phase;  // ns by which its frames lie behind the sets of its group
  std::atomic<std::int64_t> drift;  // ns by which that has grown, slips apart
};

// A camera's frames, by the thread that decodes them.
struct alignas(64) DecodeBlock {
  using Id = CameraId;
  ThreadBlock thread;
  Accusation accusation;
  SetHealth sets;
  Counters counters;
  SharedHistogram decode;  // spent in the decoder
};

// An output whose packets are passed on as they came, by the thread that decodes its camera and looks at its frames.
struct alignas(64) LookBlock {
  using Id = OutputId;
  MotionBlock motion;
};

}  // namespace campipe
