// An AVIOContext of ours, with its buffer. Nothing can be sought in it.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "core/ffmpeg.h"

namespace campipe {

struct AvioCloser {
  void operator()(AVIOContext* io) const {
    av_freep(static_cast<void*>(&io->buffer));
    avio_context_free(&io);
  }
};
using AvioOwner = std::unique_ptr<AVIOContext, AvioCloser>;

using AvioCallback = int (*)(void* opaque, std::uint8_t* data, int size);

// Calls `read` or `write` with `opaque`; the other one is null.
inline AvioOwner open_avio(int buffer_size, void* opaque, AvioCallback read, AvioCallback write) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(static_cast<std::size_t>(buffer_size)));
  if (buffer == nullptr) throw std::bad_alloc();
  AVIOContext* io = avio_alloc_context(buffer, buffer_size, write != nullptr ? 1 : 0, opaque, read, write, nullptr);
  if (io != nullptr) return AvioOwner(io);
  av_free(buffer);
  throw std::bad_alloc();
}

}  // namespace campipe
