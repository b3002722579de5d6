#include "tests/integration/terminal_program.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <cerrno>
#include <regex>

#include "core/error.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {

TerminalProgram::TerminalProgram(std::vector<std::string> arguments, unsigned short columns, unsigned short rows) {
  int master = -1;
  int slave = -1;
  const winsize size{rows, columns, 0, 0};
  if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) throw system_error("openpty", errno);
  master_.reset(master);
  slave_.reset(slave);
  ::tcgetattr(slave, &before_);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw system_error("fork", errno);
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(master);
    ::login_tty(slave);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  pump_ = std::jthread([this](const std::stop_token& stop) { pump(stop); });
}

TerminalProgram::~TerminalProgram() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void TerminalProgram::pump(const std::stop_token& stop) {
  std::array<char, 4096> buffer{};
  while (!stop.stop_requested()) {
    pollfd readable{master_.get(), POLLIN, 0};
    if (::poll(&readable, 1, 50) != 1) continue;
    const ssize_t size = ::read(master_.get(), buffer.data(), buffer.size());
    if (size <= 0) return;
    const std::lock_guard lock(mutex_);
    written_.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

void TerminalProgram::type(const std::string& keys) const {
  if (::write(master_.get(), keys.data(), keys.size()) < 0) throw system_error("cannot type", errno);
}

void TerminalProgram::resize(unsigned short columns, unsigned short rows) const {
  const winsize size{rows, columns, 0, 0};
  ::ioctl(master_.get(), TIOCSWINSZ, &size);
}

std::string TerminalProgram::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

std::string TerminalProgram::screen() const {
  constexpr std::string_view go_home = "\x1b[H";
  const std::string all = written();
  const auto end = all.rfind(go_home);
  const auto begin = end == std::string::npos || end == 0 ? end : all.rfind(go_home, end - 1);
  return begin == std::string::npos || begin == end ? "" : without_escapes(all.substr(begin, end - begin));
}

bool TerminalProgram::shows(const std::string& text) const {
  return eventually([&] { return screen().find(text) != std::string::npos; });
}

int TerminalProgram::wait() {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) throw Error("it does not end");
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool TerminalProgram::stops() const {
  int status = 0;
  return eventually([&] { return ::waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_; }) && WIFSTOPPED(status);
}

bool TerminalProgram::restored() const {
  termios now{};
  ::tcgetattr(slave_.get(), &now);
  return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag;
}

std::string without_escapes(const std::string& text) {
  static const std::regex sequence("\x1b\\[[0-9;?]*[a-zA-Z]");
  return std::regex_replace(text, sequence, "");
}

}  // namespace campipe::test
