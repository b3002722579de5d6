// The ring that stands for a source's in benchmarks of workers: its slots were filled before, with noise.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/cuda.h"
#include "ipc/frame_ring.h"
#include "stages/decoders/slot_layout.h"

namespace campipe {

class FilledRing {
 public:
  // `size`: "7680x4320"; of nv12 on a GPU, else i420. `memory`: on a GPU. Used by one thread, which then uses that GPU.
  FilledRing(const std::string& size, const Device& device, MemoryKind memory, unsigned readers);

  [[nodiscard]] const std::shared_ptr<FrameRingMemory>& memory() const { return memory_; }
  [[nodiscard]] std::uint64_t published() const { return record_.source_number; }
  // Both wait, and throw where nobody comes, or takes frames.
  void wait_for_readers();
  void publish();

 private:
  void fill(unsigned slots);
  void copy(const std::vector<std::uint8_t>& from, std::span<std::uint8_t> to);

  FrameFormat format_;
  SlotLayout layout_;
  Device device_;
  CudaStream stream_;
  std::shared_ptr<FrameRingMemory> memory_;
  std::unique_ptr<FrameRingWriter> writer_;
  FrameRecord record_;
};

}  // namespace campipe
