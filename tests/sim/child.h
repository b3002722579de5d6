// A process of the simulated rig: when it runs, how it ends, and its end of the channel to the supervisor. What it does
// is its Role's. The supervisor has it through ChildHandle.
#pragma once

#include <sys/types.h>

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/control/child_process.h"
#include "app/control/message_dispatch.h"
#include "app/control/page_watch.h"
#include "ipc/rig_page.h"
#include "tests/sim/fault.h"
#include "tests/sim/role.h"
#include "tests/sim/wire.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class ChildHandle;
class Machine;

class Child : public std::enable_shared_from_this<Child> {
 public:
  Child(Machine& machine, Part part, std::string name, pid_t pid, Chance chance);

  [[nodiscard]] Part part() const { return part_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_alive() const { return !status_; }
  // Runs for the first time. To be called once, when it is shared.
  void start();

  // For its role.
  [[nodiscard]] const RigPage& page() const { return *page_; }
  [[nodiscard]] ProcessId id() const { return page_->own(); }
  Machine& machine() { return machine_; }
  Chance& chance() { return chance_; }
  // Arrives at the barrier of the rig's end. True: every process has.
  [[nodiscard]] bool arrive_at_end() const;
  // How long some work takes it now.
  nanoseconds takes(nanoseconds least, nanoseconds most);
  template <typename M>
  void send(const M& message, const std::vector<int>& fds = {}) {
    send(M::type, write_message(message), fds);
  }
  void send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds);

  // Something of it waits for the supervisor: messages, room for more of them, its end.
  [[nodiscard]] bool awaits_supervisor() const;

  // It is set up, and its main thread runs.
  [[nodiscard]] bool serves() const;
  // Its main thread has been heard of, hangs, and is not being killed.
  [[nodiscard]] bool hangs() const;
  // That it has.
  [[nodiscard]] std::set<std::string> cameras() const;
  [[nodiscard]] bool uses(const Device& gpu) const;
  [[nodiscard]] bool leaves_rest() const { return role_ && role_->leaves_rest(); }

  // What befalls it.
  void befall(const Fault& fault);
  // Its context there, that it has.
  void lose(const Device& gpu);
  // It ends now, as waitpid() would say.
  void die(int status);

 private:
  friend class ChildHandle;
  void wake_at(Clock::time_point when);
  void turn();
  void read_messages();
  void handle(Message& message);
  void begin_on_gpu();
  void leave(int status);
  void note_crash(std::uint64_t which);
  nanoseconds delay();
  bool is(Clock::time_point until) const;

  Machine& machine_;
  Part part_;
  std::string name_;
  pid_t pid_;
  Chance chance_;
  Clock::time_point started_;
  Wire to_child_;
  Wire from_child_;
  std::optional<RigPage> page_;
  PageWatch watch_;
  std::unique_ptr<Role> role_;           // once it has its setup
  std::vector<unsigned> cpus_;           // likewise
  Device gpu_;                           // its own,
  std::vector<Device> sees_;             // and those that it sees
  std::optional<int> status_;            // it has ended
  const ChildHandle* handle_ = nullptr;  // null: the supervisor has done with it
  Clock::time_point next_turn_ = Clock::time_point::max();
  Clock::time_point next_beat_{};
  std::int64_t cpu_used_ = 0;
  // Until when faults last.
  Clock::time_point silent_until_{};
  Clock::time_point stopped_until_{};
  Clock::time_point slow_until_{};
  Clock::time_point late_until_{};
  Clock::time_point deaf_until_{};
};

// The supervisor's end.
class ChildHandle final : public ChildProcess {
 public:
  explicit ChildHandle(std::shared_ptr<Child> child) : child_(std::move(child)) { child_->handle_ = this; }
  ~ChildHandle() override;

  [[nodiscard]] pid_t pid() const override { return child_->pid_; }
  [[nodiscard]] Clock::time_point started() const override { return child_->started_; }
  bool send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) override;
  [[nodiscard]] bool has_unsent() const override { return !unsent_.empty(); }
  void flush() override;
  std::optional<Message> receive(std::string_view large) override;
  void add_waits(Waits& waits) const override;
  CpuTimes look_at_main_thread() override;
  [[nodiscard]] bool any_thread_runs() const override { return false; }
  [[nodiscard]] double cpu_seconds() const override;
  void kill() override;
  [[nodiscard]] bool killed() const override { return killed_; }
  void leave_behind() override { kill(); }
  std::optional<ExitInfo> reap() override;

 private:
  std::shared_ptr<Child> child_;
  std::deque<Message> unsent_;
  bool killed_ = false;
};

}  // namespace campipe::sim
