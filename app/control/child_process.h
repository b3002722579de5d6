// One process that the supervisor started: its pid, its pidfd, its end of the control channel.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/control/thread_times.h"
#include "core/clock.h"
#include "ipc/channel.h"
#include "ipc/outbox.h"

namespace campipe {

class ForkServer;

struct ExitInfo {
  int status = 0;    // as waitpid() gives it
  double cpu_s = 0;  // user and system time of its whole life
};
// "exit status 1", "signal 9 (Killed)".
std::string describe(const ExitInfo& info);
// By a fault of its own, not killed from outside.
bool crashed(const ExitInfo& info);

class ChildProcess {
 public:
  // Starts this program again as `arguments` (e.g. {"worker", "0"}); its standard output and error go to `log_fd`.
  // `variables`: of its environment, beside or instead of this process's. `forks`: what it is forked from, if that is
  // ready. Throws Error.
  ChildProcess(const std::vector<std::string>& arguments, int log_fd, const std::vector<std::string>& variables = {},
               ForkServer* forks = nullptr);
  ~ChildProcess();  // kills and reaps what is still running
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable once the process is gone
  [[nodiscard]] Clock::time_point started() const { return started_; }
  Channel& channel() { return channel_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }
  Outbox& outbox() { return outbox_; }
  // Of its main thread since it was started, in ns: what it has used, and for how long it waited for a CPU. To be
  // called several times a second.
  struct CpuTimes {
    std::int64_t used = 0;
    std::int64_t waited = 0;
  };
  const CpuTimes& look_at_main_thread();
  // Gives it so much time from now on. The time that its main thread waits for a CPU does not count: on a busy machine
  // it takes longer, and nothing hangs.
  void allow(Clock::duration time);
  // The time that it was allowed is over. To be called several times a second.
  [[nodiscard]] bool is_late();
  void kill();
  [[nodiscard]] bool killed() const { return killed_; }
  // Kills it, and does not wait for its end, which a disk may hold up: reap() of any other one does away with it later,
  // or the process that inherits it.
  void leave_behind();
  // Nothing while it runs.
  std::optional<ExitInfo> reap();

 private:
  ChildProcess() = default;  // what throws behind it ends and reaps the process
  bool fork_from(ForkServer& forks, const std::vector<std::string>& arguments, int log_fd,
                 const std::vector<std::string>& variables);
  void load(const std::vector<std::string>& arguments, int log_fd, const std::vector<std::string>& variables);

  pid_t pid_ = -1;
  bool killed_ = false;
  CpuWait main_wait_;
  CpuTimes main_times_;
  Deadline deadline_ = Deadline::max();
  std::int64_t waited_before_ = 0;  // for a CPU, ns, until deadline_ was set
  UniqueFd pidfd_;
  Channel channel_;
  Outbox outbox_{channel_};
  Clock::time_point started_ = Clock::now();
};

}  // namespace campipe
