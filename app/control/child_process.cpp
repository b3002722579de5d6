#include "app/control/child_process.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace campipe {

std::string describe(const ExitInfo& info) {
  if (WIFSIGNALED(info.status)) {
    return fmt::format("signal {} ({})", WTERMSIG(info.status), strsignal(WTERMSIG(info.status)));
  }
  return fmt::format("exit status {}", WEXITSTATUS(info.status));
}

std::optional<int> exit_status(const ExitInfo& info) {
  return WIFEXITED(info.status) ? std::optional(WEXITSTATUS(info.status)) : std::nullopt;
}

bool crashed(const ExitInfo& info) {
  constexpr std::array faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  return WIFSIGNALED(info.status) && std::ranges::find(faults, WTERMSIG(info.status)) != faults.end();
}

void ChildProcess::allow(Clock::duration time) {
  deadline_ = Clock::now() + time;
  waited_before_ = look_at_main_thread().waited;
}

bool ChildProcess::is_late() {
  const std::chrono::nanoseconds waited(look_at_main_thread().waited - waited_before_);
  return Clock::now() - waited >= deadline_;
}

}  // namespace campipe
