// A process of this machine that this one has started, as all of campipe outside simulations has them: its pid, its
// pidfd, its end of the control channel.
#pragma once

#include "app/control/child_process.h"
#include "app/control/thread_times.h"
#include "ipc/outbox.h"

namespace campipe {

class ForkServer;

class StartedProcess final : public ChildProcess {
 public:
  // Starts this program again as `arguments` (e.g. {"worker", "0"}); its standard output and error go to `log_fd`.
  // `variables`: of its environment, beside or instead of this process's. `forks`: what it is forked from, if that is
  // ready; it is renewed when the process has crashed, and must outlive it. Throws Error.
  StartedProcess(const std::vector<std::string>& arguments, int log_fd, const std::vector<std::string>& variables = {},
                 ForkServer* forks = nullptr);
  ~StartedProcess() override;
  StartedProcess(const StartedProcess&) = delete;
  StartedProcess& operator=(const StartedProcess&) = delete;

  [[nodiscard]] pid_t pid() const override { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable once the process is gone
  [[nodiscard]] Clock::time_point started() const override { return started_; }
  Channel& channel() { return channel_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }

  bool send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) override;
  [[nodiscard]] bool has_unsent() const override { return outbox_.waiting(); }
  void flush() override { outbox_.flush(); }
  std::optional<Message> receive(std::string_view large = {}) override;
  void add_waits(Waits& waits) const override;

  CpuTimes look_at_main_thread() override;
  [[nodiscard]] bool any_thread_runs() const override;
  [[nodiscard]] double cpu_seconds() const override;

  void kill() override;
  [[nodiscard]] bool killed() const override { return killed_; }
  // Its process id is taken until another process of this one is reaped, or until the process that inherits it reaps
  // it.
  void leave_behind() override;
  std::optional<ExitInfo> reap() override;

 private:
  explicit StartedProcess(ForkServer* forks) : forks_(forks) {}  // what throws behind it ends and reaps the process
  bool fork_from(ForkServer& forks, const std::vector<std::string>& arguments, int log_fd,
                 const std::vector<std::string>& variables);
  void load(const std::vector<std::string>& arguments, int log_fd, const std::vector<std::string>& variables);

  ForkServer* forks_;
  pid_t pid_ = -1;
  pid_t traced_as_ = -1;  // its id, also when that is given back
  bool killed_ = false;
  CpuWait main_wait_;
  CpuTimes main_times_;
  UniqueFd pidfd_;
  Channel channel_;
  Outbox outbox_{channel_};
  Clock::time_point started_ = Clock::now();
};

// What they log goes to `log_fd`. `forks`: as above.
StartProcess starts_processes(int log_fd, ForkServer* forks = nullptr);

}  // namespace campipe
