// The process that forks (app/control/fork_server.h). It has one thread, as all that it forks begin with.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <span>

#include "app/control/child.h"
#include "app/control/fork_server.h"
#include "app/control/message_dispatch.h"
#include "app/control/messages/fork_server.h"
#include "app/control/receive_by.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr auto longest_wait = std::chrono::seconds(10);  // for what to begin with

// The control channel, by a descriptor of its own: child_channel_fd stays taken. What is forked puts its own channel
// there.
Channel duplicate_channel() {
  UniqueFd socket(::fcntl(child_channel_fd, F_DUPFD_CLOEXEC, child_channel_fd + 1));
  if (!socket) throw system_error("cannot duplicate the control channel", errno);
  return Channel(std::move(socket));
}

// 0, in a process whose parent has ended and been waited for, so that another one has it; else its pid, or -1.
pid_t fork_orphan() {
  auto [ours, theirs] = make_channel_pair();
  const pid_t between = ::fork();
  if (between < 0) return -1;
  if (between == 0) {
    ours.reset();
    if (::fork() != 0) ::_exit(EXIT_SUCCESS);
    const pid_t own = ::getpid();
    char none = 0;
    if (::write(theirs.get(), &own, sizeof own) != sizeof own) ::_exit(EXIT_FAILURE);
    while (::read(theirs.get(), &none, sizeof none) < 0 && errno == EINTR) continue;  // until `ours` is closed
    return 0;
  }
  theirs.reset();
  while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_t orphan = -1;
  return ::read(ours.get(), &orphan, sizeof orphan) == sizeof orphan ? orphan : -1;
}

// What the system shows as the arguments of this process: they lie one behind the other, and can be overwritten. A last
// byte that is not zero says that this was done (proc_pid_cmdline(5), get_mm_cmdline() in the kernel's fs/proc/base.c).
void show_arguments(std::span<char*> shown, const std::vector<std::string>& arguments) {
  char* const last = shown.back() + std::string_view(shown.back()).size();
  std::string text = fmt::format("campipe {}", fmt::join(arguments, " "));
  text.resize(static_cast<std::size_t>(last - shown.front()) - 1);
  std::ranges::copy(text + '\0' + '.', shown.front());
}

std::vector<std::string> texts_of(const std::vector<messages::Begin::Bytes>& all) {
  std::vector<std::string> texts;
  for (const auto& bytes : all) texts.emplace_back(bytes.begin(), bytes.end());
  return texts;
}

// As posix_spawn() begins one (app/control/child_process.cpp): it has just been forked, and has one thread.
std::optional<std::vector<std::string>> begin(const std::vector<UniqueFd>& fds, std::span<char*> shown) {
  if (::dup2(fds[0].get(), STDOUT_FILENO) < 0 || ::dup2(fds[0].get(), STDERR_FILENO) < 0 ||
      ::dup2(fds[1].get(), child_channel_fd) < 0)
    throw system_error("cannot take its descriptors", errno);
  Channel channel = duplicate_channel();
  auto message = receive_by(channel, Clock::now() + longest_wait);
  if (!message) return std::nullopt;
  const auto begin = read_message<messages::Begin>(*message);
  for (const std::string& variable : texts_of(begin.variables)) {
    const auto end_of_name = variable.find('=');
    if (end_of_name == std::string::npos) continue;
    ::setenv(variable.substr(0, end_of_name).c_str(), variable.c_str() + end_of_name + 1, 1);
  }
  if (begin.umask) ::umask(*begin.umask);
  std::vector<std::string> arguments = texts_of(begin.arguments);
  show_arguments(shown, arguments);
  return arguments;
}

}  // namespace

std::optional<std::vector<std::string>> run_fork_server(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // not handed on to what it forks
  ::prctl(PR_SET_NAME, "campipe");     // it was started as /proc/self/exe
  Channel channel = duplicate_channel();
  send(channel, messages::ForkServerReady{});
  while (!channel.closed()) {
    auto message = receive_by(channel, Clock::now() + std::chrono::minutes(1));
    if (!message) continue;  // while the supervisor is there, it may ask later
    static_cast<void>(read_message<messages::Fork>(*message));
    const pid_t pid = message->incomplete ? -1 : fork_orphan();
    if (pid == 0) return begin(message->fds, {argv, static_cast<std::size_t>(argc)});
    send(channel, messages::Forked{pid});
  }
  return std::nullopt;
}

}  // namespace campipe
