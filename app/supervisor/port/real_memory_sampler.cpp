#include "app/supervisor/port/real_memory_sampler.h"

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/failpoint.h"

namespace campipe {
namespace {

// Resident memory of a process with each shared page divided among those that map it.
double pss_mib(pid_t pid) {
  failpoint("memory.sampling");
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::string word;
  while (rollup >> word) {
    if (word != "Pss:") continue;
    double kib = 0;
    rollup >> kib;
    return kib / 1024;
  }
  return 0;  // it is just ending
}

// Nothing: there is no memory for the answer.
std::optional<std::vector<double>> sample(const std::vector<pid_t>& pids) noexcept {
  try {
    std::vector<double> found;
    for (const pid_t pid : pids) found.push_back(pss_mib(pid));
    return found;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

struct RealMemorySampler::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::vector<pid_t>> wanted;
  std::optional<std::vector<double>> found;
  bool leaving = false;
};

RealMemorySampler::RealMemorySampler() : state_(std::make_shared<State>()) {
  std::thread([state = state_] { run(state); }).detach();
}

RealMemorySampler::~RealMemorySampler() {
  const std::lock_guard lock(state_->mutex);
  state_->leaving = true;
  state_->changed.notify_one();
}

void RealMemorySampler::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->leaving || state->wanted; });
    if (state->leaving) return;
    const std::vector<pid_t> pids = std::move(*state->wanted);
    lock.unlock();
    auto found = sample(pids);
    lock.lock();
    state->wanted.reset();
    state->found = std::move(found);
  }
}

void RealMemorySampler::request(std::vector<pid_t> pids) {
  const std::lock_guard lock(state_->mutex);
  if (state_->wanted) return;
  state_->wanted = std::move(pids);
  state_->found.reset();  // of a request before, that nothing waits for any more
  state_->changed.notify_one();
}

bool RealMemorySampler::busy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->wanted.has_value();
}

std::optional<std::vector<double>> RealMemorySampler::take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->found, std::nullopt);
}

}  // namespace campipe
