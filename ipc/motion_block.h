// How much moves in what an output shows, in the rig page (ipc/rig_page.h).
#pragma once

#include <atomic>

namespace campipe {

// As parts (0 to 1) of what is watched; by the process that looks for motion in it: its worker or, where its packets
// are copied, the master.
struct MotionBlock {
  std::atomic<float> score;      // the highest of the last two seconds
  std::atomic<float> threshold;  // the least score that is motion; 0: none is looked for
  std::atomic<float> largest;    // score of all
};

}  // namespace campipe
