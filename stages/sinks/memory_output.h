// Where libavformat's muxers write when their bytes are to stay in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/avio_owner.h"

namespace campipe {

using MemoryOutput = AvioOwner;

// Appends what is written to `bytes`, which outlives it; avio_flush() brings all of it there. Nothing can be sought.
MemoryOutput open_memory_output(std::vector<std::uint8_t>& bytes);

}  // namespace campipe
