// A terminal that is used in another way than its shell left it, and is given back as it was whatever happens.
#pragma once

#include <termios.h>

#include <string>
#include <string_view>

namespace campipe {

// The mode of a terminal and what is written to it at first and at last. It is restored by the destructor, and before
// a signal ends the process: one that is sent (SIGINT, SIGTERM, SIGHUP, SIGQUIT) or a crash. SIGKILL restores
// nothing. Signals that are blocked do nothing here. One at a time in a process.
class TerminalMode {
 public:
  // Switches the terminal `fd`. `enter` and `leave` must outlive it; `leave` undoes `enter`. Throws Error.
  TerminalMode(int fd, const termios& mode, std::string_view enter, std::string_view leave);
  ~TerminalMode();
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;

  // Gives the terminal back and takes it again, for those who stop the process in between.
  void suspend();
  void resume();

 private:
  int fd_;
  termios mode_;
  std::string_view enter_;
};

// The mode of the terminal `fd` now. Throws Error where it is none.
termios terminal_mode(int fd);

struct TerminalSize {
  unsigned columns = 80;
  unsigned rows = 24;
};
TerminalSize terminal_size(int fd);

// Asks for a password on the terminal of the process, without showing it. Throws Error where there is no terminal.
std::string ask_password(const std::string& prompt);

}  // namespace campipe
