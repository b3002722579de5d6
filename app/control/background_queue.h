// Writes texts one after the other on a thread of its own: where a disk may not answer, that thread waits, and no
// caller does. Of more texts, or more bytes of them, than may wait the oldest are left out, and counted.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "core/clock.h"

namespace campipe {

class BackgroundQueue {
 public:
  // On that thread, which may be left behind: it may use nothing that ends before the process does. What it throws is
  // logged. `left_out`: how many texts before this one were.
  using Write = std::function<void(const std::string& text, std::size_t left_out)>;

  // What may wait. The newest text always may, however long it is.
  struct Limit {
    std::size_t texts = std::numeric_limits<std::size_t>::max();
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
  };

  // Throws std::system_error where there can be no thread.
  BackgroundQueue(const Limit& limit, Write write);
  ~BackgroundQueue();  // does not wait: what waits is left out
  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  // Any thread; never waits.
  void put(std::string text);
  // Waits until everything is written. False: not by `deadline`.
  bool finish(Deadline deadline);

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace campipe
