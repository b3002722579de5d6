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

// What libav says on this thread in messages of the lowest levels alone. For the words of an error, never for a
// decision: another version may say it in another way, and then these are empty.
struct LibavHints {
  std::string redirect;  // where the newest answer of HTTP sends its reader
  std::string format;    // the container that was found last
};
// Since the last call.
LibavHints take_libav_hints();

}  // namespace campipe
