#include "app/control/thread_cpu.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "app/control/thread_times.h"
#include "core/clock.h"
#include "ipc/thread_block.h"

namespace campipe {
namespace {

constexpr auto silent_after = std::chrono::seconds(1);  // one that is well beats more often

struct Counted {
  pthread_t thread;
  clockid_t clock;
  pid_t id;
  CpuWait wait = {};
};

// A thread leaves it before it ends, so that every clock in it is a living thread's.
struct Register {
  std::mutex mutex;
  std::map<ThreadBlock*, std::vector<Counted>> threads;
  std::int64_t published = 0;  // when their times were entered last
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

bool is_silent(const ThreadBlock& block) {
  const std::int64_t silent_since = std::max(block.beat.load(), block.wait_until.load());
  return silent_since <= to_ns(Clock::now() - silent_after);
}

// Since it was asked last: the longest of any of them, as the others may wait for it.
std::int64_t wait_of(std::vector<Counted>& threads) {
  std::int64_t longest = 0;
  for (Counted& counted : threads) {
    if (const auto times = read_thread_times(::getpid(), counted.id))
      longest = std::max(longest, counted.wait.look(*times, now_ns()));
  }
  return longest;
}

}  // namespace

ThreadCpu::ThreadCpu(ThreadBlock& block) : block_(block) {
  Counted counted{pthread_self(), {}, ::gettid()};
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
  const std::int64_t now = now_ns();
  const std::int64_t passed = now - std::exchange(counts.published, now);
  for (auto& [block, threads] : counts.threads) {
    std::int64_t sum = 0;
    for (const Counted& counted : threads) sum += time_of(counted);
    const std::int64_t used = sum - block->cpu_time.exchange(sum, std::memory_order_relaxed);
    if (!is_silent(*block)) continue;
    // Of many that work at least one waits at any time: what they use is none of it.
    const std::int64_t waited = std::min(wait_of(threads), passed - std::max<std::int64_t>(used, 0));
    if (waited > 0) block->cpu_waited.fetch_add(waited, std::memory_order_relaxed);
  }
}

}  // namespace campipe
