// Reads memory, as filters do, for measuring how fast that is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/gpu.h"

namespace campipe {

// Reads all of `bytes`, a multiple of 16, at `from` (16-byte aligned memory that the current GPU can use) once, and
// leaves in `*sum`, in its own memory, what the words XORed with it are. Enqueues one kernel on `stream` and returns at
// once. Throws GpuError when the launch fails.
void enqueue_read(const std::uint8_t* from, std::size_t bytes, unsigned* sum, GpuStream stream);

}  // namespace campipe
