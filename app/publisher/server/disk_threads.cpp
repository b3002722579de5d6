#include "app/publisher/server/disk_threads.h"

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
constexpr int most_left_behind = 64;  // threads besides, whose disk does not answer and that are waited for no more

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
    begun[task.job] = task.holder;
    return task;
  }
  // It counts no more. False: it did not.
  bool end(Job job) {
    const auto found = begun.find(job);
    if (found == begun.end()) return false;
    if (--running[found->second] == 0) running.erase(found->second);
    begun.erase(found);
    return true;
  }
  // Its thread is none of the others any more, and ends with it.
  void leave_behind(Job job) {
    if (left_behind == most_left_behind || !end(job)) return;
    ++left_behind;
    --threads;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> waiting;            // in the order in which they came
  std::map<std::string, int> running;  // by holder
  std::map<Job, std::string> begun;    // whose it is; but for those that were left behind
  int threads = 0;
  int left_behind = 0;
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
  start_thread();
  return state.last;
}

// With the mutex held. One that is free may have been woken for another task already.
void DiskThreads::start_thread() {
  if (state_->waiting.size() > state_->free && state_->threads < most_threads) {
    std::thread([shared = state_] { work(shared); }).detach();
    ++state_->threads;
  }
  state_->changed.notify_one();
}

void DiskThreads::drop(Job job) {
  std::function<void()> dropped;  // what it owns goes without the lock
  const std::lock_guard lock(state_->mutex);
  const auto found = std::ranges::find(state_->waiting, job, &State::Task::job);
  if (found != state_->waiting.end()) {
    dropped = std::move(found->work);
    state_->waiting.erase(found);
    return;
  }
  state_->leave_behind(job);
  if (!state_->closed) start_thread();
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
    if (!state->end(task->job)) {
      --state->left_behind;
      return;
    }
    state->changed.notify_one();
  }
}

}  // namespace campipe
