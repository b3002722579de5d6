#include "app/control/background_queue.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/log.h"

namespace campipe {

struct BackgroundQueue::State {
  State(const Limit& most, Write how) : limit(most), write(std::move(how)) {}

  // With the mutex locked.
  std::string take_oldest() {
    std::string text = std::move(texts.front());
    texts.pop_front();
    bytes -= text.size();
    return text;
  }

  const Limit limit;
  Write write;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> texts;
  std::size_t bytes = 0;  // of texts
  std::size_t left_out = 0;
  bool writing = false;
  bool leaving = false;
};

BackgroundQueue::BackgroundQueue(const Limit& limit, Write write)
    : state_(std::make_shared<State>(limit, std::move(write))) {
  std::thread([state = state_] { run(state); }).detach();
}

BackgroundQueue::~BackgroundQueue() {
  const std::lock_guard lock(state_->mutex);
  state_->leaving = true;
  state_->changed.notify_all();
}

void BackgroundQueue::put(std::string text) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  state.bytes += text.size();
  state.texts.push_back(std::move(text));
  while (state.texts.size() > 1 && (state.texts.size() > state.limit.texts || state.bytes > state.limit.bytes)) {
    state.take_oldest();
    ++state.left_out;
  }
  state_->changed.notify_all();
}

bool BackgroundQueue::finish(Deadline deadline) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_until(lock, deadline, [this] { return state_->texts.empty() && !state_->writing; });
}

void BackgroundQueue::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->leaving || !state->texts.empty(); });
    if (state->leaving) return;
    const std::string text = state->take_oldest();
    const std::size_t left_out = std::exchange(state->left_out, 0);
    state->writing = true;
    lock.unlock();
    try {
      state->write(text, left_out);
    } catch (const std::exception& error) {
      spdlog::error("{}", error.what());
    }
    lock.lock();
    state->writing = false;
    state->changed.notify_all();
  }
}

}  // namespace campipe
