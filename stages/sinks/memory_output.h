// Where libavformat's muxers write when their bytes are to stay in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe {

struct MemoryOutputCloser {
  void operator()(AVIOContext* io) const;
};
using MemoryOutput = std::unique_ptr<AVIOContext, MemoryOutputCloser>;

// Appends what is written to `bytes`, which outlives it; avio_flush() brings all of it there. Nothing can be sought.
MemoryOutput open_memory_output(std::vector<std::uint8_t>& bytes);

}  // namespace campipe
