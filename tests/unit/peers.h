// What a live source talks to in a test: programs, and servers that answer one thing. All end with the object.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/unique_handle.h"

extern char** environ;

namespace campipe::test {

// libavformat receives UDP by a thread that it cancels in the end. ThreadSanitizer, which is told to overlook what
// libavformat calls, ends the program then.
#ifdef __SANITIZE_THREAD__
inline constexpr bool udp_is_closed = false;
#else
inline constexpr bool udp_is_closed = true;
#endif

// Its standard output can be read; standard error is the test's.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe", errno);
    output_.reset(ends[0]);
    const UniqueFd write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const int code = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw system_error("cannot start " + arguments[0], code);
  }
  ~Program() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  [[nodiscard]] bool ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }
  // Its exit status, when it has ended by itself.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // The first line it prints, waited for for a minute at most.
  std::string first_line() {
    std::string line;
    char letter = 0;
    pollfd entry{output_.get(), POLLIN, 0};
    while (::poll(&entry, 1, 60'000) > 0 && ::read(output_.get(), &letter, 1) == 1 && letter != '\n') line += letter;
    return line;
  }

 private:
  pid_t pid_ = 0;
  UniqueFd output_;
};

inline int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  ::getsockname(fd, static_cast<sockaddr*>(static_cast<void*>(&address)), &size);
  return ntohs(address.sin_port);
}

inline UniqueFd bind_any(int type) {
  UniqueFd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd.get(), static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof(address)) != 0) {
    throw system_error("bind", errno);
  }
  return fd;
}

// That nobody listens on at the moment.
inline int free_port(int type = SOCK_STREAM) {
  const UniqueFd fd = bind_any(type);
  return port_of(fd.get());
}

// Accepts one connection after the other and lets `serve` have each.
class Server {
 public:
  explicit Server(std::function<void(int fd, const std::atomic<bool>& over)> serve)
      : listener_(bind_any(SOCK_STREAM)), serve_(std::move(serve)) {
    if (::listen(listener_.get(), 8) != 0) throw system_error("listen", errno);
    thread_ = std::jthread([this] { run(); });
  }
  ~Server() {
    over_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  [[nodiscard]] int port() const { return port_of(listener_.get()); }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void run() {
    while (!over_) {
      const UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd) continue;
      ++connections_;
      serve_(fd.get(), over_);
    }
  }

  UniqueFd listener_;
  std::function<void(int, const std::atomic<bool>&)> serve_;
  std::atomic<bool> over_{false};
  std::atomic<int> connections_{0};
  std::jthread thread_;
};

inline bool send_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

// Until an empty line, or the end.
inline std::string read_request(int fd) {
  std::string request;
  char letter = 0;
  while (!request.ends_with("\r\n\r\n") && ::recv(fd, &letter, 1, 0) == 1) request += letter;
  return request;
}

// Reads requests and answers each, `times` times; closes then.
inline auto answering(const std::string& answer, int times = 1) {
  return [answer, times](int fd, const std::atomic<bool>& /*over*/) {
    for (int i = 0; i < times && !read_request(fd).empty(); ++i) send_all(fd, answer);
  };
}

// Reads and says nothing until the peer has gone.
inline void stay_silent(int fd, const std::atomic<bool>& over) {
  char byte = 0;
  pollfd entry{fd, POLLIN, 0};
  while (!over) {
    if (::poll(&entry, 1, 20) > 0 && ::recv(fd, &byte, 1, 0) <= 0) return;
  }
}

}  // namespace campipe::test
