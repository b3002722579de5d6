// A process that has loaded this program and its libraries, and forks at request: a new process is there after
// milliseconds, and not after the tenth of a second of CPU time that loading some 170 libraries takes
// (docs/decisions/0026-processes-are-forked-from-one-that-has-loaded.md).
//
// What it forks are children of the process that asks, not its own: that one waits for them, and they learn of its end.
// All of one fork server have the same places of code and data, and the same stack protector; after a crash, which may
// be a stranger's attempt at guessing those, renew() has the next ones begin with others.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace campipe {

class StartedProcess;
namespace messages {
struct Forked;
struct ForkServerReady;
}  // namespace messages

inline constexpr const char* fork_server_role = "fork-server";

// Used by one thread, the process's main one: the kernel ends children with the thread that has them.
class ForkServer {
 public:
  // Its standard output and error, for as long as it has not forked, go to `log_fd`, which must outlive it.
  explicit ForkServer(int log_fd);
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  // Waits no longer than that for what it has to load. Until then, fork() has nothing to fork from.
  void wait_until_ready(std::chrono::milliseconds longest);
  // Forks a child of this process, which logs to `log_fd`. It waits on `channel_fd`, its end of its control channel,
  // for messages::Begin. Returns nothing where the fork failed or took longer than half a second; a child that comes
  // into being later ends when it finds its channel closed.
  std::optional<pid_t> fork(int log_fd, int channel_fd);
  // Sets the umask of the processes that are forked from now on. Without it they have the fork server's.
  void set_umask(mode_t mask) { umask_ = mask; }
  [[nodiscard]] std::optional<mode_t> umask() const { return umask_; }
  // Ends the process, and has another one loaded meanwhile.
  void renew();

 private:
  void on(const messages::ForkServerReady& ready);
  void on(const messages::Forked& forked);
  bool is_ready();
  std::optional<pid_t> wait_for_pid();

  int log_fd_;
  std::unique_ptr<StartedProcess> process_;  // null: it could not be started
  bool ready_ = false;
  std::optional<mode_t> umask_;
  std::optional<pid_t> answer_;
};

// The process itself. Returns in each process that it forks, with its arguments; nothing: the supervisor is gone, and
// with that this process's work. `argc`, `argv`: main()'s; what the system shows as arguments of a process lies there,
// and is overwritten in what it forks.
std::optional<std::vector<std::string>> run_fork_server(int argc, char** argv);

}  // namespace campipe
