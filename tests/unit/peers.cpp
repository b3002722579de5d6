#include "tests/unit/peers.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <random>
#include <vector>

#include "core/error.h"

extern char** environ;

namespace campipe::test {

Program::Program(const std::vector<std::string>& arguments) {
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

Program::~Program() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int Program::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Program::first_line() {
  std::string line;
  char letter = 0;
  pollfd entry{output_.get(), POLLIN, 0};
  while (::poll(&entry, 1, 60'000) > 0 && ::read(output_.get(), &letter, 1) == 1 && letter != '\n') line += letter;
  return line;
}

bool Program::ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  ::getsockname(fd, static_cast<sockaddr*>(static_cast<void*>(&address)), &size);
  return ntohs(address.sin_port);
}

namespace {

// 0, or the errno with which it cannot be bound.
int bind_to(int fd, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::bind(fd, static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof(address)) == 0 ? 0 : errno;
}

// For as long as this process lives: no other test takes a port that this one is about to use.
bool reserve(int port) {
  static std::mutex mutex;
  static std::vector<UniqueFd> reserved;
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string name = "campipe-test-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(name, &address.sun_path[1]);  // behind a zero: it is no file, and goes with the process
  const auto* any = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd.get(), any, size) != 0) return false;
  const std::lock_guard lock(mutex);
  reserved.push_back(std::move(fd));
  return true;
}

}  // namespace

UniqueFd bind_any(int type) {
  UniqueFd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  if (const int error = bind_to(fd.get(), 0); error != 0) throw system_error("bind", error);
  return fd;
}

// Below those that the system gives to connections (ip_local_port_range), so that none gets it before it is used.
int free_port(int type) {
  std::random_device random;
  std::uniform_int_distribution<int> ports(10'000, 32'000);
  for (int tries = 0; tries < 100; ++tries) {
    const int port = ports(random);
    const UniqueFd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    if (bind_to(fd.get(), port) == 0 && reserve(port)) return port;
  }
  throw Error("no free port was found");
}

bool send_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

std::string read_request(int fd) {
  std::string request;
  char letter = 0;
  while (!request.ends_with("\r\n\r\n") && ::recv(fd, &letter, 1, 0) == 1) request += letter;
  return request;
}

void stay_silent(int fd, const std::atomic<bool>& over) {
  char byte = 0;
  pollfd entry{fd, POLLIN, 0};
  while (!over) {
    if (::poll(&entry, 1, 20) > 0 && ::recv(fd, &byte, 1, 0) <= 0) return;
  }
}

Server::Server(std::function<void(int fd, const std::atomic<bool>& over)> serve)
    : listener_(bind_any(SOCK_STREAM)), serve_(std::move(serve)) {
  if (::listen(listener_.get(), 8) != 0) throw system_error("listen", errno);
  thread_ = std::jthread([this] { run(); });
}

Server::~Server() {
  over_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
}

void Server::run() {
  while (!over_) {
    const UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) continue;
    ++connections_;
    serve_(fd.get(), over_);
  }
}

}  // namespace campipe::test
