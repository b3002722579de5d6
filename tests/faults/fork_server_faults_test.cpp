// What the processes of a rig are forked from, and what becomes of them without it.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr const char* fork_server = "fork-server (forks the processes of this rig)";
constexpr std::uintmax_t some = 10'000;  // bytes of a recording: a second or less

// Where its code and its stack are: all differ from one program that is loaded to the next.
std::string layout_of(pid_t pid) {
  std::istringstream maps(read_text("/proc/" + std::to_string(pid) + "/maps"));
  std::string layout;
  for (std::string line; std::getline(maps, line);) {
    const bool told = line.ends_with("/campipe_faults") || line.ends_with("/campipe") || line.ends_with("libc.so.6");
    if (told || line.ends_with("[vdso]")) layout += line.substr(0, line.find('-')) + " ";
  }
  return layout;
}

pid_t parent_of(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  return static_cast<pid_t>(std::stol(stat.substr(stat.rfind(')') + 4)));
}

class ForkServerOf : public testing::Test {
 protected:
  void wait_for_more() { ASSERT_TRUE(rig_.wait_for_growth("a.mp4", rig_.size("a.mp4") + some)) << rig_.log(); }
  [[nodiscard]] bool is_forked(pid_t pid) const { return layout_of(pid) == layout_of(rig_.pid_of(fork_server)); }
  pid_t kill_worker(int number) {
    const pid_t before = rig_.pid_of("worker 0");
    ::kill(before, number);
    const pid_t after = rig_.successor_of("worker 0", before);
    wait_for_more();
    return after;
  }
  // Returns when a worker was started without it, and another one is there.
  pid_t lose_fork_server(int number) {
    wait_for_more();
    const pid_t lost = rig_.pid_of(fork_server);
    ::kill(lost, number);
    kill_worker(SIGKILL);
    rig_.successor_of(fork_server, lost);
    return lost;
  }
  void end() {
    rig_.signal(SIGTERM);
    EXPECT_EQ(rig_.wait(), 0) << rig_.log();
    EXPECT_TRUE(rig_.processes().empty());
    EXPECT_EQ(check_accounting(rig_.report()), "");
  }

  RigRun rig_{
      "workers: {count: 1}\ncameras:\n  a: {source: \"test://pattern?width=160&height=120&rate=25\", record: {path: "
      "a.mp4}}\n"};
};

TEST_F(ForkServerOf, ARigLeavesItsChildrenToTheSupervisor) {
  wait_for_more();
  for (const char* role : {"source", "master", "worker 0", "publisher"}) {
    const pid_t pid = rig_.pid_of(role);
    EXPECT_EQ(parent_of(pid), rig_.supervisor()) << role;
    EXPECT_TRUE(is_forked(pid)) << role;
  }
  EXPECT_NE(layout_of(rig_.pid_of(fork_server)), layout_of(rig_.supervisor()));
  EXPECT_TRUE(is_forked(kill_worker(SIGKILL)));
  end();
}

TEST_F(ForkServerOf, ARigIsNotMissedAndComesAgain) {
  const pid_t stopped = lose_fork_server(SIGSTOP);
  EXPECT_EQ(std::ranges::count(rig_.processes(), stopped), 0);
  lose_fork_server(SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_forked(kill_worker(SIGKILL)); })) << "it has loaded by then";
  end();
}

// An attacker who guesses addresses and crashes a process finds other addresses in its successor.
TEST_F(ForkServerOf, ARigIsLaidOutAnewAfterACrash) {
  if (is_sanitized) GTEST_SKIP() << answers_signals;
  wait_for_more();
  const pid_t first = rig_.pid_of(fork_server);
  const std::string guessed = layout_of(rig_.pid_of("worker 0"));
  const pid_t second = kill_worker(SIGSEGV);
  EXPECT_NE(layout_of(second), guessed);
  rig_.successor_of(fork_server, first);
  EXPECT_NE(layout_of(kill_worker(SIGKILL)), guessed);
  end();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
