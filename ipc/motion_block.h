// How much moves in what an output shows, in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace campipe {

// As parts (0 to 1) of what is watched; by the process that looks for motion in it: its worker or, where its packets
// are copied, the master.
struct MotionBlock {
  std::atomic<float> score;      // the highest of the last two seconds
  std::atomic<float> threshold;  // the least score that is motion; 0: none is looked for
  std::atomic<float> largest;    // score of all
};

// A motion whose end has not been reported, so that the successor of a dead publisher goes on with it.
struct OpenMotion {
  std::atomic<std::int64_t> last;    // pts of the newest frame that moved
  std::atomic<float> highest;        // score
  std::atomic<std::uint32_t> is_on;  // 0: there is none
};

}  // namespace campipe
