// The GPU's work in the tests of rings: frames that tell their number, and work that takes a while.
#pragma once

#include <cstdint>
#include <span>

#include "core/gpu.h"

namespace campipe::test {

// All are enqueued on `stream`, which is of this thread's GPU. Bytes are whole 64-bit words.

// Nothing, for that long by the GPU's own clock.
void enqueue_delay(std::int64_t ns, GpuStream stream);
// What fill_pattern() writes; number 0: what is no frame's.
void enqueue_pattern(std::span<std::uint8_t> bytes, std::uint64_t number, GpuStream stream);
// Counts in *wrong the words that has_pattern() would not find. `wrong` is page-locked or the GPU's.
void enqueue_check(std::span<const std::uint8_t> bytes, std::uint64_t number, std::uint64_t* wrong, GpuStream stream);
// *word = value, by a kernel, at once visible to the CPU. `word` is page-locked.
void enqueue_stamp(std::uint64_t* word, std::uint64_t value, GpuStream stream);

}  // namespace campipe::test
