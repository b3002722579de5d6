// What a live source talks to in a test: programs, and servers that answer one thing. All end with the object.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/unique_handle.h"

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
  explicit Program(const std::vector<std::string>& arguments);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  [[nodiscard]] bool ended() const;
  // Its exit status, when it has ended by itself.
  int wait();
  // The first line it prints, waited for for a minute at most.
  std::string first_line();

 private:
  pid_t pid_ = 0;
  UniqueFd output_;
};

int port_of(int fd);

UniqueFd bind_any(int type);

// That nobody listens on at the moment; no other test gets it as long as this process lives.
int free_port(int type = SOCK_STREAM);

// Accepts one connection after the other and lets `serve` have each.
class Server {
 public:
  explicit Server(std::function<void(int fd, const std::atomic<bool>& over)> serve);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  [[nodiscard]] int port() const { return port_of(listener_.get()); }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void run();

  UniqueFd listener_;
  std::function<void(int, const std::atomic<bool>&)> serve_;
  std::atomic<bool> over_{false};
  std::atomic<int> connections_{0};
  std::jthread thread_;
};

bool send_all(int fd, const std::string& text);

// Until an empty line, or the end.
std::string read_request(int fd);

// Reads requests and answers each, `times` times; closes then.
inline auto answering(const std::string& answer, int times = 1) {
  return [answer, times](int fd, const std::atomic<bool>& /*over*/) {
    for (int i = 0; i < times && !read_request(fd).empty(); ++i) send_all(fd, answer);
  };
}

// Reads and says nothing until the peer has gone.
void stay_silent(int fd, const std::atomic<bool>& over);

}  // namespace campipe::test
