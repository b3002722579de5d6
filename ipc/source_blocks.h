// What a source counts of its cameras in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/accusation.h"
#include "ipc/counters.h"
#include "ipc/drop_counters.h"
#include "ipc/histogram.h"
#include "ipc/ids.h"
#include "ipc/thread_block.h"

namespace campipe {

// How a camera's source keeps time.
struct SourceHealth {
  std::atomic<std::int64_t> clock_drift;    // ns by which the camera's clock has run ahead since connected
  std::atomic<std::int64_t> lag;            // ns by which the newest packet came later than usual
  std::atomic<std::int64_t> largest_lag;    // of all packets
  std::atomic<std::int64_t> time_origin;    // of a live source: see SourceClock::origin()
  std::atomic<std::int64_t> media_offset;   // likewise: see MediaClock::offset()
  std::atomic<std::uint32_t> camera_clock;  // 1: capture times are the camera's own
};

// A camera's source, by the thread that reads it.
struct alignas(64) SourceBlock {
  using Id = CameraId;
  ThreadBlock thread;
  Accusation accusation;
  SourceHealth health;
  Counters counters;
  DropCounters unpublished;  // packets that were not decoded
};

// An output whose packets are passed on as they came, by the thread that reads its camera.
struct alignas(64) CopyBlock {
  using Id = OutputId;
  Accusation accusation;
  Counters counters;
  DropCounters unpublished;
  SharedHistogram latency;  // transit, where that is known, and arrival → passed on
  SharedHistogram transit;  // see core/frame_age.h
};

}  // namespace campipe
