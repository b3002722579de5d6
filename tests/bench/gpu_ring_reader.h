// The second process of gpu_pipeline_bench: takes frames out of frame rings, and filters them or gives them back at
// once.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "app/control/started_process.h"
#include "ipc/frame_ring.h"

namespace campipe {

inline constexpr unsigned queue_size = 8;      // frames that may wait for the second process
inline constexpr unsigned most_in_flight = 3;  // frames of a camera that it may have on its stream
inline constexpr auto stall_deadline = std::chrono::seconds(20);

// What the second process runs: rings come over the channel, then `end`; the number of frames taken goes back.
// Returns the exit status.
int run_ring_reader();

// The first process's end of it.
class RingReaderProcess {
 public:
  // Throws Error. Before this process touches CUDA.
  RingReaderProcess();
  // Any thread. All frames of `ring` will be taken by a blocking reader that works on `gpu`.
  void give(const FrameRingMemory& ring, const Device& gpu, bool filter);
  // Once every ring is closed: how many frames were taken.
  std::uint64_t finish();
  // User and system time so far.
  [[nodiscard]] double cpu_s() const;

 private:
  StartedProcess child_;
  std::mutex mutex_;
};

}  // namespace campipe
