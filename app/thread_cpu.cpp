#include "app/thread_cpu.h"

#include <pthread.h>
#include <time.h>

#include <map>
#include <mutex>
#include <vector>

namespace campipe {
namespace {

struct Counted {
  pthread_t thread;
  clockid_t clock;
};

// A thread leaves it before it ends, so that every clock in it is a living thread's.
struct Register {
  std::mutex mutex;
  std::map<ThreadBlock*, std::vector<Counted>> threads;
};

Register& all() {
  static Register the_register;
  return the_register;
}

std::int64_t time_of(const Counted& counted) {
  timespec time{};
  if (clock_gettime(counted.clock, &time) != 0) return 0;
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

}  // namespace

ThreadCpu::ThreadCpu(ThreadBlock& block) : block_(block) {
  Counted counted{pthread_self(), {}};
  if (pthread_getcpuclockid(counted.thread, &counted.clock) != 0) return;
  Register& counts = all();
  const std::lock_guard lock(counts.mutex);
  counts.threads[&block].push_back(counted);
}

ThreadCpu::~ThreadCpu() {
  Register& counts = all();
  const std::lock_guard lock(counts.mutex);
  const auto found = counts.threads.find(&block_);
  if (found == counts.threads.end()) return;
  std::erase_if(found->second, [](const Counted& counted) { return pthread_equal(counted.thread, pthread_self()); });
  if (found->second.empty()) counts.threads.erase(found);
}

void publish_cpu_times() {
  Register& counts = all();
  const std::lock_guard lock(counts.mutex);
  for (const auto& [block, threads] : counts.threads) {
    std::int64_t sum = 0;
    for (const Counted& counted : threads) sum += time_of(counted);
    block->cpu_time.store(sum, std::memory_order_relaxed);
  }
}

}  // namespace campipe
