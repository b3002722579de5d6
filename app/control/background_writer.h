// Writes to a terminal, a pipe or a file that may not take what it is given: the writing thread waits, and nothing else
// does. What does not fit into the queue is left out, and counted.
#pragma once

#include <memory>
#include <string>

namespace campipe {

class BackgroundWriter {
 public:
  // `fd` stays the caller's. Throws std::system_error where there can be no thread.
  explicit BackgroundWriter(int fd);
  // Waits up to a second for what is queued; a thread that still waits for a reader is left behind, and the end of this
  // process ends it.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // Whole lines, or what a terminal obeys.
  void put(std::string text);

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace campipe
