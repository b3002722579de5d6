// The one place where libav's messages arrive: campipe's log as messages of level debug (a damaged or odd file is not
// campipe's error; what matters of it is reported by whoever called libav), or whoever listens on the thread.
#pragma once

#include <string>

namespace campipe {

class LibavListener {
 public:
  virtual ~LibavListener() = default;
  // A warning or error of libav on the listener's thread: a piece of a line, with the line's end if it is the last.
  virtual void hear(int level, const std::string& piece) = 0;
};

// Sends libav's messages here from now on. Idempotent; any thread.
void install_libav_log();
// For this thread alone; null: back to the log. One at a time.
void listen_to_libav(LibavListener* listener);

}  // namespace campipe
