// Processes that a process starts. The program that is started is this test, which then runs no test and ends.
#include "app/control/started_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <csignal>

#include "core/unique_handle.h"

namespace campipe {
namespace CAMPIPE_FILE {

const std::vector<std::string> ends_at_once{"--gtest_filter=none"};

void wait_for_end(const StartedProcess& process) {
  pollfd wait{process.pidfd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 30'000), 1);
}

// A process that has ended has a process id until it is reaped.
bool is_there(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

TEST(StartedProcess, OneThatWasLeftBehindIsReapedWithAnother) {
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  StartedProcess other(ends_at_once, nowhere.get());
  StartedProcess left(ends_at_once, nowhere.get());
  const pid_t pid = left.pid();
  left.leave_behind();
  wait_for_end(left);
  wait_for_end(other);
  EXPECT_TRUE(is_there(pid));
  EXPECT_TRUE(other.reap());
  EXPECT_FALSE(is_there(pid));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
