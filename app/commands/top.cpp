#include "app/commands/top.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iostream>

#include "app/commands/rig_sample.h"
#include "app/commands/status.h"
#include "app/commands/terminal.h"
#include "app/commands/top_view.h"
#include "app/config/exit_status.h"
#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

constexpr auto interval = std::chrono::seconds(1);
constexpr auto refresh_patience = std::chrono::seconds(5);
constexpr auto long_wait = std::chrono::hours(1);  // where something else will end it

// The other screen, no cursor, lines are cut at the edge; and back.
constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave_screen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

termios keys_at_once() {
  termios mode = terminal_mode(STDIN_FILENO);
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // signals of keys stay
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  return mode;
}

// A new size of the terminal, and Ctrl-Z.
UniqueFd take_terminal_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGWINCH);
  sigaddset(&mask, SIGTSTP);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  UniqueFd fd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw system_error("cannot receive signals", errno);
  return fd;
}

class Top {
 public:
  explicit Top(const ApiAddress& address) : client_(address) {
    add(parse_status(fetch_status(client_)));
    next_request_ = Clock::now();  // who watches is not known yet
  }

  int run() {
    const UniqueFd signals = take_terminal_signals();
    TerminalMode terminal(STDIN_FILENO, keys_at_once(), enter_screen, leave_screen);
    for (;;) {
      draw();
      std::array fds{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals.get(), POLLIN, 0}};
      exchange(fds);
      if (fds[0].revents != 0 && !read_keys()) return 0;
      if (fds[1].revents != 0) on_signals(signals.get(), terminal);
    }
  }

 private:
  // Asks the rig what is due, and takes what it answers.
  void exchange(std::span<pollfd> fds) {
    try {
      if (!client_.busy() && Clock::now() >= next_request_) {
        next_request_ = Clock::now() + interval;
        asking_viewers_ = false;
        client_.start("GET", "/api/v1/status", refresh_patience);
      }
      if (const auto answer = client_.wait(fds, client_.busy() ? Clock::now() + long_wait : next_request_)) {
        take(*answer);
      }
    } catch (const Error& error) {
      view_.set_trouble(error.what());
    }
  }

  void take(const ApiAnswer& answer) {
    if (asking_viewers_) {
      // Users who may not see them see the rest.
      if (answer.status == 200) count_viewers(fetched_, answer.body);
      add(std::move(fetched_));
      return;
    }
    if (answer.status != 200) throw Error(explain(answer, client_.address()));
    fetched_ = parse_status(answer.body);
    asking_viewers_ = true;
    client_.start("GET", "/api/v1/viewers", refresh_patience);
  }

  void add(RigSample sample) {
    history_.add(std::move(sample));
    view_.set_trouble("");
    if (!view_.paused()) view_.show(history_.newest());
  }

  bool read_keys() {
    std::array<char, 256> bytes{};
    const ssize_t size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (size <= 0) return size < 0 && errno == EINTR;  // else the terminal is gone
    return view_.type(std::string(bytes.data(), static_cast<std::size_t>(size)));
  }

  static void on_signals(int fd, TerminalMode& terminal) {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGTSTP) continue;  // the size is asked for at every drawing
      terminal.suspend();
      ::raise(SIGSTOP);
      terminal.resume();
    }
  }

  // Lines are erased before they are written: after the last column of one, it would be that column.
  void draw() {
    std::string screen = "\x1b[H";
    const auto lines = view_.draw(terminal_size(STDOUT_FILENO));
    for (std::size_t i = 0; i < lines.size(); ++i) screen += (i == 0 ? "\x1b[2K" : "\r\n\x1b[2K") + lines[i];
    screen += lines.empty() ? "" : "\x1b[0m";
    std::cout << screen << std::flush;
  }

  ApiClient client_;
  RigHistory history_;
  TopView view_{form_for_terminals()};
  RigSample fetched_;  // waits for its viewers
  bool asking_viewers_ = false;
  Clock::time_point next_request_{};
};

}  // namespace

int run_top(const ApiAddress& address) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
    std::cerr << "campipe top needs a terminal; campipe status prints the same once\n";
    return usage_error;
  }
  return Top(address).run();
}

}  // namespace campipe
