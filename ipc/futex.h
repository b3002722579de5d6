// Waiting for a 32-bit word in memory shared between processes. Every wait has a deadline.
//
// A program that defines futex_wait() and futex_wake_all() itself, as a simulation does, has these in their place: the
// linker takes ipc/futex.cpp, a library of its own (campipe_futex), only for what is still missing.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.h"

namespace campipe {

// Sleeps while `word` is `expected`, at most until `deadline`. May return early; callers check their condition.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline deadline);
// Wakes every waiter of every process.
void futex_wake_all(const std::atomic<std::uint32_t>& word);

// A hint to the processor that this is a spin loop.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace campipe
