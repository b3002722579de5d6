// A program on a terminal of its own, whose screen is looked at and whose keys are typed.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/unique_handle.h"

namespace campipe::test {

class TerminalProgram {
 public:
  TerminalProgram(std::vector<std::string> arguments, unsigned short columns, unsigned short rows);
  ~TerminalProgram();  // ends it
  TerminalProgram(const TerminalProgram&) = delete;
  TerminalProgram& operator=(const TerminalProgram&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void type(const std::string& keys) const;
  void resize(unsigned short columns, unsigned short rows) const;
  // Everything that it has written.
  [[nodiscard]] std::string written() const;
  // The newest screen that is complete, where each begins with the cursor's going home; without escape sequences.
  [[nodiscard]] std::string screen() const;
  // Waits until the screen holds that text; false: it does not come.
  [[nodiscard]] bool shows(const std::string& text) const;
  // Waits for its end: the exit status, or 128 + the signal that ended it. Throws if it goes on.
  int wait();
  // Whether it is stopped (Ctrl-Z); waits for it.
  [[nodiscard]] bool stops() const;
  // The terminal's mode is the one that it began with.
  [[nodiscard]] bool restored() const;

 private:
  void pump(const std::stop_token& stop);

  pid_t pid_ = -1;
  UniqueFd master_;
  UniqueFd slave_;  // so that the terminal outlives the program
  termios before_{};
  mutable std::mutex mutex_;
  std::string written_;
  std::jthread pump_;
};

// Without escape sequences of terminals.
std::string without_escapes(const std::string& text);

}  // namespace campipe::test
