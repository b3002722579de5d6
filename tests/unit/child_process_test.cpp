// What all child processes have in common.
#include "app/control/child_process.h"

#include <gtest/gtest.h>

#include <csignal>

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::hours;
using std::chrono::nanoseconds;

// It does nothing but wait for a CPU.
class WaitingProcess final : public ChildProcess {
 public:
  nanoseconds waited{};

  [[nodiscard]] pid_t pid() const override { return 1; }
  [[nodiscard]] Clock::time_point started() const override { return {}; }
  bool send(std::string_view, const nlohmann::json&, const std::vector<int>&) override { return true; }
  [[nodiscard]] bool has_unsent() const override { return false; }
  void flush() override {}
  std::optional<Message> receive(std::string_view) override { return std::nullopt; }
  void add_waits(Waits&) const override {}
  CpuTimes look_at_main_thread() override { return {0, waited.count()}; }
  [[nodiscard]] bool any_thread_runs() const override { return true; }
  [[nodiscard]] double cpu_seconds() const override { return 0; }
  void kill() override {}
  [[nodiscard]] bool killed() const override { return false; }
  void leave_behind() override {}
  std::optional<ExitInfo> reap() override { return std::nullopt; }
};

TEST(ChildProcess, HasAllTheTimeUntilItIsAllowedSome) { EXPECT_FALSE(WaitingProcess().is_late()); }

TEST(ChildProcess, IsLateWhenItsTimeIsOver) {
  WaitingProcess process;
  process.allow(hours(1));
  EXPECT_FALSE(process.is_late());
  process.allow({});
  EXPECT_TRUE(process.is_late());
}

TEST(ChildProcess, WaitsForACpuDoNotCount) {
  WaitingProcess process;
  process.waited = hours(2);
  process.allow({});
  EXPECT_TRUE(process.is_late()) << "earlier waits add nothing";
  process.waited += hours(1);
  EXPECT_FALSE(process.is_late());
}

TEST(ExitInfo, IsAStatusOrASignal) {
  EXPECT_EQ(exit_status({3 << 8}), 3);
  EXPECT_EQ(describe({3 << 8}), "exit status 3");
  EXPECT_FALSE(exit_status({SIGKILL}));
  EXPECT_FALSE(crashed({SIGKILL}));
  EXPECT_TRUE(crashed({SIGSEGV}));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
