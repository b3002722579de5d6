#include "stages/sinks/memory_output.h"

#include "core/c_callback.h"

namespace campipe {
namespace {

constexpr int buffer_size = 64 * 1024;

int append(void* opaque, std::uint8_t* data, int size) {
  auto& bytes = *static_cast<std::vector<std::uint8_t>*>(opaque);
  bytes.insert(bytes.end(), data, data + size);
  return size;
}

}  // namespace

MemoryOutput open_memory_output(std::vector<std::uint8_t>& bytes) {
  return open_avio(buffer_size, &bytes, nullptr, c_callback<append, AVERROR(ENOMEM)>);
}

}  // namespace campipe
