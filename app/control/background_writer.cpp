#include "app/control/background_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "core/clock.h"

namespace campipe {
namespace {

constexpr std::size_t most_bytes = 256UL * 1024;
constexpr auto last_wait = std::chrono::seconds(1);

// False: it cannot be written, and neither could what follows.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EAGAIN) {  // another process made it non-blocking
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, 1000);
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

struct BackgroundWriter::State {
  explicit State(int to) : fd(to) {}
  void add(std::string text) {
    texts.push_back(std::move(text));
    bytes += texts.back().size();
  }
  void note_left_out() {
    if (left_out == 0) return;
    add("(" + std::to_string(left_out) + " lines were left out here: they were not read in time)\n");
    left_out = 0;
  }
  // Without memory it is reported later.
  void try_to_note_left_out() noexcept {
    try {
      note_left_out();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    }
  }

  const int fd;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> texts;
  std::size_t bytes = 0;     // of texts
  std::size_t left_out = 0;  // texts
  bool writing = false;
  bool leaving = false;
};

BackgroundWriter::BackgroundWriter(int fd) : state_(std::make_shared<State>(fd)) {
  std::thread([state = state_] { run(state); }).detach();
}

BackgroundWriter::~BackgroundWriter() {
  std::unique_lock lock(state_->mutex);
  state_->leaving = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, last_wait, [this] { return state_->texts.empty() && !state_->writing; });
}

void BackgroundWriter::put(std::string text) {
  const std::lock_guard lock(state_->mutex);
  if (state_->bytes + text.size() > most_bytes) {
    ++state_->left_out;
    return;
  }
  state_->note_left_out();
  state_->add(std::move(text));
  state_->changed.notify_all();
}

void BackgroundWriter::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->leaving || !state->texts.empty(); });
    if (state->texts.empty()) return;
    const std::string text = std::move(state->texts.front());
    state->texts.pop_front();
    state->writing = true;
    lock.unlock();
    static_cast<void>(write_all(state->fd, text));  // the log itself cannot be written: there is nowhere to report it
    lock.lock();
    state->writing = false;
    state->bytes -= text.size();
    if (state->texts.empty()) state->try_to_note_left_out();
    state->changed.notify_all();
  }
}

}  // namespace campipe
