#include "app/commands/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS};

// What a signal handler needs to give the terminal back; it must not allocate.
struct Restore {
  int fd = -1;
  termios mode{};
  std::string_view leave;
  std::array<struct sigaction, ending_signals.size()> before{};
};
Restore restore;
std::atomic<bool> switched{false};

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the terminal is gone
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Also in signal handlers.
void give_back() {
  if (!switched.exchange(false)) return;
  write_all(restore.fd, restore.leave);
  ::tcsetattr(restore.fd, TCSANOW, &restore.mode);  // without waiting: the other end may not read any more
}

void restore_and_die(int number) {
  give_back();
  ::raise(number);  // SA_RESETHAND: now it ends the process, as it would have without us
}

}  // namespace

TerminalMode::TerminalMode(int fd, const termios& mode, std::string_view enter, std::string_view leave)
    : fd_(fd), mode_(mode), enter_(enter) {
  restore.fd = fd;
  restore.mode = terminal_mode(fd);
  restore.leave = leave;
  struct sigaction action {};
  action.sa_handler = restore_and_die;
  action.sa_flags = SA_RESETHAND;
  for (std::size_t i = 0; i < ending_signals.size(); ++i) {
    ::sigaction(ending_signals[i], &action, &restore.before[i]);
  }
  resume();
}

TerminalMode::~TerminalMode() {
  suspend();
  for (std::size_t i = 0; i < ending_signals.size(); ++i) {
    ::sigaction(ending_signals[i], &restore.before[i], nullptr);
  }
}

void TerminalMode::suspend() { give_back(); }

void TerminalMode::resume() {
  switched = true;
  ::tcsetattr(fd_, TCSAFLUSH, &mode_);
  write_all(fd_, enter_);
}

termios terminal_mode(int fd) {
  termios mode{};
  if (::tcgetattr(fd, &mode) != 0) throw system_error("no terminal", errno);
  return mode;
}

TerminalSize terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

std::string ask_password(const std::string& prompt) {
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (!terminal) throw Error("there is no terminal to ask for the password on: put it into CAMPIPE_PASSWORD");
  termios silent = terminal_mode(terminal.get());
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  const TerminalMode mode(terminal.get(), silent, prompt, "\n");
  std::string password;
  char c = 0;
  while (::read(terminal.get(), &c, 1) == 1 && c != '\n') password += c;
  return password;
}

}  // namespace campipe
