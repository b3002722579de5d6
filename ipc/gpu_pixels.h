// A ring's pixels in a GPU's memory, shared between processes. CUDA only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/frame.h"
#include "core/gpu.h"
#include "core/unique_handle.h"

namespace campipe {

// What another process needs to map an allocation, beside a descriptor where the kind has one. Whoever knows it may
// map the memory: it goes through descriptors and sealed memory only, never through a name.
using GpuHandle = std::array<std::uint8_t, 64>;

// One allocation of a kind that can be shared, mapped in this process. Freed when the last process that maps it has
// dropped it or died. Dropping a cuda_legacy import waits for kernels that run: not on a camera's thread.
class GpuPixels {
 public:
  // On `device`, which becomes this thread's. Throws GpuError. Kinds: cuda_vmm, cuda_legacy, cuda_fabric.
  static std::shared_ptr<GpuPixels> create(MemoryKind kind, const Device& device, std::size_t bytes);
  // Maps the allocation of another process for `user`, which becomes this thread's GPU: the one that it lies on, or one
  // that can reach that one (peer access). Read-only where the kind can be (cuda_vmm, cuda_fabric). Throws GpuError.
  static std::shared_ptr<GpuPixels> import(MemoryKind kind, const Device& user, const GpuHandle& handle, int fd,
                                           std::size_t bytes);
  virtual ~GpuPixels() = default;

  [[nodiscard]] virtual std::span<std::uint8_t> bytes() const = 0;
  [[nodiscard]] virtual const GpuHandle& handle() const = 0;
  // For cuda_vmm, to be sent over SCM_RIGHTS; else -1. Valid as long as this object.
  [[nodiscard]] virtual int fd() const = 0;
};

// Host memory that is page-locked for as long as the result lives, so that GPUs use it under its own address. `gpu`
// becomes this thread's. Throws GpuError.
std::shared_ptr<const void> page_lock(std::span<std::uint8_t> bytes, const Device& gpu);
// The same for a mapping that this process may only read. Null where the driver does not lock such memory: the GPU's
// copies from it are then staged by the driver, and take the thread that asks for them with them.
std::shared_ptr<const void> page_lock_read_only(std::span<std::uint8_t> bytes, const Device& gpu);

}  // namespace campipe
