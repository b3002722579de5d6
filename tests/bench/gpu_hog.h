// A GPU that is full, to test what others do then.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cuda.h"
#include "core/frame.h"

namespace campipe {

// Holds a GPU's memory until it is destroyed.
class GpuHog {
 public:
  GpuHog(const Device& gpu, std::uint64_t free_mib) : gpu_(gpu), keep_free_(free_mib << 20) {}

  // Takes what is free beyond `free_mib`. Throws GpuError.
  void eat();
  [[nodiscard]] std::uint64_t held_mib() const { return held_ >> 20; }

 private:
  Device gpu_;
  std::size_t keep_free_;
  std::size_t held_ = 0;
  std::vector<DeviceBytes> eaten_;
};

}  // namespace campipe
