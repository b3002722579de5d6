// How much CPU time the threads that work for a camera have used, and for how long they waited for a CPU, so that the
// supervisor can distinguish one that works, or would if it could, from one that hangs. Read by the process itself,
// once for each of its heartbeats: the clock of a thread is open to its own process only, and the supervisor never
// waits.
#pragma once

namespace campipe {

struct ThreadBlock;

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

// Enters the times of all threads that are counted into their blocks. How long they waited is looked up only where a
// camera's thread is silent.
void publish_cpu_times();

}  // namespace campipe
