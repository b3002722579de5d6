// What is known of a packet of the video beside its bytes, by the half of a camera's ingest that has the connection:
// all that the other half, which decodes, learns of the source's time.
#pragma once

#include <cstdint>

#include "core/frame.h"

namespace campipe {

// Times in ns.
struct PacketNote {
  std::int64_t packet = -1;       // AVPacket::pos
  std::int64_t arrival = 0;       // monotonic
  std::int64_t arrival_utc = 0;   // the same by the time of day
  std::int64_t waited = 0;        // for it, and for what came since the packet before
  std::int64_t late = 0;          // SourceClock::late()
  std::int64_t offset = 0;        // of SourceClock: where its timestamps lie
  std::int64_t media_offset = 0;  // of MediaClock
  std::int64_t group_offset = 0;  // of the group's: see GroupClock; of a file, GroupClock::age() when it began
  std::int64_t capture_utc = 0;
  CaptureClock capture_clock = CaptureClock::arrival;
};

}  // namespace campipe
