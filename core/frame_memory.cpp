#include "core/frame_memory.h"

#include <new>

namespace campipe {

FrameBytes host_frame_bytes(std::size_t size) {
  constexpr std::align_val_t alignment{host_frame_alignment};
  return {static_cast<std::uint8_t*>(::operator new[](size, alignment)),
          [](std::uint8_t* bytes) { ::operator delete[](bytes, alignment); }};
}

}  // namespace campipe
