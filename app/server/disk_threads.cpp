#include "app/server/disk_threads.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace campipe {
namespace {

constexpr int most_threads = 16;
constexpr int most_of_one = 4;  // that are being done
constexpr std::ptrdiff_t most_waiting_of_one = 64;
constexpr std::size_t most_waiting = 1024;

}  // namespace

struct DiskThreads::State {
  struct Task {
    Job job;
    std::string holder;
    std::function<void()> work;
  };
  // Called with the mutex held: the next that has its turn.
  std::optional<Task> take() {
    const auto next = std::ranges::find_if(waiting, [this](const Task& task) {
      const auto found = running.find(task.holder);
      return found == running.end() || found->second < most_of_one;
    });
    if (next == waiting.end()) return std::nullopt;
    Task task = std::move(*next);
    waiting.erase(next);
    ++running[task.holder];
    return task;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> waiting;            // in the order in which they came
  std::map<std::string, int> running;  // by holder
  int threads = 0;
  std::size_t free = 0;
  Job last = 0;
  bool closed = false;
};

DiskThreads::DiskThreads(std::shared_ptr<boost::asio::io_context> io)
    : io_(std::move(io)), state_(std::make_shared<State>()) {}

DiskThreads::~DiskThreads() { close(); }

void DiskThreads::close() {
  closed_ = true;
  for (HttpEvent* event : waiting_) event->wake();
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->changed.notify_all();
}

DiskThreads::Job DiskThreads::add(std::string holder, std::function<void()> task) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const auto own = std::ranges::count(state.waiting, holder, &State::Task::holder);
  if (state.closed || own >= most_waiting_of_one || state.waiting.size() >= most_waiting) return 0;
  state.waiting.push_back({++state.last, std::move(holder), std::move(task)});
  // One that is free may have been woken for another already.
  if (state.waiting.size() > state.free && state.threads < most_threads) {
    std::thread([shared = state_] { work(shared); }).detach();
    ++state.threads;
  }
  state.changed.notify_one();
  return state.last;
}

void DiskThreads::drop(Job job) {
  std::function<void()> dropped;  // what it owns goes without the lock
  const std::lock_guard lock(state_->mutex);
  const auto found = std::ranges::find(state_->waiting, job, &State::Task::job);
  if (found == state_->waiting.end()) return;
  dropped = std::move(found->work);
  state_->waiting.erase(found);
}

void DiskThreads::work(const std::shared_ptr<State>& state) {
  ::pthread_setname_np(::pthread_self(), "http disk");
  std::unique_lock lock(state->mutex);
  for (;;) {
    std::optional<State::Task> task;
    ++state->free;
    state->changed.wait(lock, [&] { return state->closed || (task = state->take()); });
    --state->free;
    if (!task) return;
    lock.unlock();
    task->work();
    task->work = nullptr;
    lock.lock();
    if (--state->running[task->holder] == 0) state->running.erase(task->holder);
    state->changed.notify_one();
  }
}

}  // namespace campipe
