// Writes to a terminal, a pipe or a file that may not take what it is given: a thread waits for it, and no caller does.
// Of what waits too long the oldest is left out, and counted.
#pragma once

#include <string>

#include "app/control/background_queue.h"

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
  void put(std::string text) { queue_.put(std::move(text)); }

 private:
  BackgroundQueue queue_;
};

}  // namespace campipe
