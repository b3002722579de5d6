// How a GPU signals to another process's GPU work that a slot's pixels are complete, and that a slot is given back: the
// signals of a ring's slots, on the ring's control memory, which they page-lock. CUDA only.
#pragma once

#include <cstdint>
#include <memory>

#include "core/gpu.h"
#include "ipc/frame_ring.h"

namespace campipe {

// Streams are of `gpu`, which becomes the current one of each thread that calls. Dropping the object waits, two seconds
// at most, until the work that it was given has ended: that work uses the ring's memory.
class ReadySignals {
 public:
  // The writer's: makes the events of a ring with ReadySignal ipc_event, and puts their handles into the header.
  static std::shared_ptr<ReadySignals> create(ring::Header& header, const ring::Description& description,
                                              const Device& gpu);
  // A reader's. Throws GpuError.
  static std::shared_ptr<ReadySignals> open(ring::Header& header, const ring::Description& description,
                                            const Device& gpu);
  virtual ~ReadySignals() = default;

  // Writer. Records behind what is enqueued on `stream`; returns the number of the fill.
  virtual std::uint64_t record(unsigned slot, GpuStream stream) = 0;
  // Writer. The newest record of the slot has been reached (true before the first). Never waits.
  virtual bool complete(unsigned slot) = 0;
  // Reader. `stream` goes on when the fill is complete.
  virtual void wait(unsigned slot, std::uint64_t fill, GpuStream stream) = 0;
  // Reader. done[reader][slot] = sequence, in stream order. Throws GpuError.
  virtual void give_back(unsigned reader, unsigned slot, std::uint32_t sequence, GpuStream stream) = 0;
  // Reader, once the writer is gone. See FrameRingReader::release_waits().
  virtual bool release_waits() = 0;
};

}  // namespace campipe
