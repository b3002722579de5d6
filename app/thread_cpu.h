// How much CPU time the threads that work for a camera have used, so that the supervisor can tell one that works from
// one that hangs. Read by the process itself, once for each of its heartbeats: the clock of a thread is open to its own
// process only, and the supervisor waits for nobody.
#pragma once

#include "ipc/rig_page.h"

namespace campipe {

// For as long as it lives, the CPU time of this thread counts for `block`. Construct it on that thread.
class ThreadCpu {
 public:
  explicit ThreadCpu(ThreadBlock& block);
  ~ThreadCpu();
  ThreadCpu(const ThreadCpu&) = delete;
  ThreadCpu& operator=(const ThreadCpu&) = delete;

 private:
  ThreadBlock& block_;
};

// Enters the times of all threads that are counted into their blocks.
void publish_cpu_times();

}  // namespace campipe
