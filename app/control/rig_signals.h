// SIGINT, SIGTERM and SIGHUP to a rig. From the moment this is made, which is before the configuration is read, none of
// them ends the program by itself, and none is lost: what comes before the supervisor runs, it obeys when it does.
#pragma once

#include <unistd.h>

#include <deque>
#include <optional>

#include "core/clock.h"
#include "core/unique_handle.h"

namespace campipe {

class RigSignals {
 public:
  enum class Request { end, terminal_closed, reload };

  // To be made before there is any other thread that could get a signal. Throws Error.
  RigSignals();

  // Readable when one has come. Not for those that asks_to_end() has read.
  [[nodiscard]] int fd() const { return fd_.get(); }
  // Never waits.
  std::optional<Request> next();
  // One that has come asks to end; it is kept for next(), and so are the others.
  bool asks_to_end();

 private:
  std::optional<Request> read();
  [[nodiscard]] bool terminal_closed() const { return on_terminal_ && ::isatty(STDERR_FILENO) == 0; }

  UniqueFd fd_;
  std::deque<Request> kept_;
  bool on_terminal_ = ::isatty(STDERR_FILENO) != 0;
  Clock::time_point told_to_end_{};
};

}  // namespace campipe
