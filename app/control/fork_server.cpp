#include "app/control/fork_server.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <utility>

#include "app/control/message_dispatch.h"
#include "app/control/messages/fork_server.h"
#include "app/control/receive_by.h"
#include "app/control/started_process.h"
#include "core/log.h"

namespace campipe {
namespace {

// A fork takes milliseconds. One that takes longer than this is not waited for: the supervisor has others to look
// after.
constexpr auto longest_fork = std::chrono::milliseconds(500);
// Its arguments are overwritten with those of what it forks, which need room.
constexpr const char* long_argument = "(forks the processes of this rig)";

// While it lives, processes below this one that lose their parent become children of this one.
class TakesOrphans {
 public:
  TakesOrphans() {
    ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~TakesOrphans() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }
  TakesOrphans(const TakesOrphans&) = delete;
  TakesOrphans& operator=(const TakesOrphans&) = delete;

 private:
  int before_ = 0;
};

bool is_child(pid_t pid) {
  siginfo_t info{};
  return pid > 0 && ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

ForkServer::ForkServer(int log_fd) : log_fd_(log_fd) { renew(); }

ForkServer::~ForkServer() = default;

void ForkServer::renew() {
  ready_ = false;
  process_.reset();
  try {
    process_ = std::make_unique<StartedProcess>(std::vector<std::string>{fork_server_role, long_argument}, log_fd_);
  } catch (const std::exception& error) {
    spdlog::debug("{}; processes start more slowly", error.what());
  }
}

void ForkServer::on(const messages::ForkServerReady&) { ready_ = true; }

void ForkServer::on(const messages::Forked& forked) { answer_ = forked.pid; }

bool ForkServer::is_ready() {
  if (process_ && process_->reap()) process_.reset();
  if (!process_) {
    renew();
    return false;
  }
  try {
    while (auto message = process_->channel().receive()) {
      dispatch(messages::FromForkServer(), *message, [this](auto& read) { on(read); });
    }
  } catch (const std::exception& error) {
    spdlog::warn("the fork server is started again: {}", error.what());
    renew();
  }
  if (process_ && process_->channel().closed()) renew();
  return ready_;
}

void ForkServer::wait_until_ready(std::chrono::milliseconds longest) {
  const Deadline deadline = Clock::now() + longest;
  while (!is_ready() && process_ && Clock::now() < deadline) wait_readable(process_->channel(), deadline);
}

std::optional<pid_t> ForkServer::wait_for_pid() {
  const Deadline deadline = Clock::now() + longest_fork;
  while (Clock::now() < deadline) {
    wait_readable(process_->channel(), deadline);
    if (!is_ready()) return std::nullopt;
    if (answer_) return std::exchange(answer_, std::nullopt);
  }
  return std::nullopt;
}

std::optional<pid_t> ForkServer::fork(int log_fd, int channel_fd) {
  if (!is_ready()) return std::nullopt;
  answer_.reset();
  const TakesOrphans here;
  try {
    if (send(process_->channel(), messages::Fork{}, {log_fd, channel_fd})) {
      const auto pid = wait_for_pid();
      if (pid && is_child(*pid)) return pid;
    }
  } catch (const std::exception& error) {
    spdlog::debug("the fork server: {}", error.what());
  }
  renew();
  return std::nullopt;
}

}  // namespace campipe
