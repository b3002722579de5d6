#include "ipc/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace campipe {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline deadline) {
  const std::int64_t ns = to_ns(deadline);
  const timespec until{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  // FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC. Errors (woken, changed, timed out) all mean
  // "look again", which is what callers do.
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace campipe
