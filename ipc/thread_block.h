// What a thread that works for a camera notes in the rig page (ipc/rig_page.h): by it the supervisor finds those that
// hang.
#pragma once

#include <atomic>
#include <cstdint>

namespace campipe {

// What keeps a thread from its heartbeat, as far as it knows. Who waits for a ring beats meanwhile.
enum class WaitsFor : std::uint32_t { nothing, source, disk, decoder, filter, encoder };
const char* name_of(WaitsFor what);

// A thread that works for a camera in one process, and the threads that it started. Written by that process alone, but
// for `beat` and `fault`, which the supervisor clears when the process is gone.
struct alignas(64) ThreadBlock {
  std::atomic<std::int64_t> beat;        // monotonic ns; 0: no such thread runs
  std::atomic<std::int64_t> wait_until;  // monotonic ns: until then it may be silent; 0: it names no time
  std::atomic<std::int64_t> cpu_time;    // ns that it and its codec's threads have used
  std::atomic<std::int64_t> cpu_waited;  // ns that one of them waited for a CPU while it was silent
  std::atomic<WaitsFor> waits_for;
  std::atomic<std::uint32_t> fault;  // the signal that one of them died of; 0: none
};

}  // namespace campipe
