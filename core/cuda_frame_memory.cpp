#include "core/cuda.h"
#include "core/frame_memory.h"

namespace campipe {

FrameBytes device_frame_bytes(std::size_t size) {
  return {allocate_on_device(size).release(), [](std::uint8_t* bytes) { DeviceDeleter()(bytes); }};
}

FrameBytes pinned_frame_bytes(std::size_t size) {
  return {allocate_pinned(size).release(), [](std::uint8_t* bytes) { PinnedDeleter()(bytes); }};
}

}  // namespace campipe
