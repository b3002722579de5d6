// A process that is to do nothing for a while.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/unit/process_state.h"

namespace campipe::test {

// No thread of it runs: each is stopped, or the process is gone.
inline bool is_stopped(pid_t process) {
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    if (std::string("TtZX").find(state_in(task.path())) == std::string::npos) return false;
  }
  return true;
}

// By SIGSTOP. Returns when it does nothing any more, which on a busy machine is later than the signal.
inline void stop_process(pid_t process) {
  ::kill(process, SIGSTOP);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_stopped(process)) {
    if (std::chrono::steady_clock::now() > until) return ADD_FAILURE() << process << " does not stop";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace campipe::test
