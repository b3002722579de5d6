#include "stages/sinks/memory_output.h"

#include <new>

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

void MemoryOutputCloser::operator()(AVIOContext* io) const {
  av_freep(static_cast<void*>(&io->buffer));
  avio_context_free(&io);
}

MemoryOutput open_memory_output(std::vector<std::uint8_t>& bytes) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(buffer_size));
  if (buffer == nullptr) throw std::bad_alloc();
  AVIOContext* io =
      avio_alloc_context(buffer, buffer_size, 1, &bytes, nullptr, c_callback<append, AVERROR(ENOMEM)>, nullptr);
  if (io != nullptr) return MemoryOutput(io);
  av_free(buffer);
  throw std::bad_alloc();
}

}  // namespace campipe
