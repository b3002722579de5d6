// What source, master, worker and publisher have in common: they are started by the supervisor with a control channel
// as descriptor 3, learn everything over it, beat ten times a second, and leave when asked or when the supervisor is
// gone.
//
// An exception that leaves a role's functions ends the process at once, as a crash would: nothing is unwound, so that
// no destructor reports cameras as done that are not.
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "app/control/message_dispatch.h"
#include "core/log.h"
#include "ipc/channel.h"
#include "ipc/outbox.h"
#include "ipc/rig_page.h"

namespace campipe {

namespace messages {
struct Setup;
}  // namespace messages

inline constexpr int child_channel_fd = 3;
inline constexpr auto beat_interval = std::chrono::milliseconds(100);

class Child {
 public:
  struct Role {
    // A message of the supervisor, on the main thread. One that is a BadMessage is logged and passed over.
    std::function<void(Message&)> on_message;
    // The supervisor is gone: finish within seconds.
    std::function<void()> on_abandoned;
    // Called ten times a second, after messages, and after wake(); true: everything is done, leave.
    std::function<bool()> on_tick;
  };

  static bool started_by_supervisor();
  // Takes descriptor 3 and waits for the supervisor's first message, `setup`. Throws Error when it does not come.
  Child();
  ~Child();

  // Until on_tick() ends it, or the time given to an abandoned process is over. Returns the exit status.
  int run(const Role& role);
  // Any thread; never waits for the supervisor. One that is gone is not an error: on_abandoned() is on its way. What
  // can neither be sent nor kept ends the process.
  template <typename M>
  void send(const M& message, const std::vector<int>& fds = {}) {
    send(M::type, write_message(message), fds);
  }
  // This process is at the end of a phase of the barrier.
  void arrive(std::uint32_t phase);
  // Any thread: something has changed that on_tick() looks at.
  void wake();
  // Main thread, between the parts of long work.
  void beat() const;

  [[nodiscard]] const RigPage& page() const { return *page_; }
  [[nodiscard]] const messages::Setup& setup() const { return *setup_; }
  // True from the moment on_abandoned() is called. Any thread.
  [[nodiscard]] bool abandoned() const { return abandoned_.load(); }

 private:
  void send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds);
  void receive_setup();
  void pin();
  int run_loop(const Role& role);
  void wait_for_events(std::chrono::nanoseconds longest);
  bool handle_messages(const Role& role);
  void handle(const Role& role, Message& message);
  void flush_before_leaving();
  void abandon(const Role& role);

  pid_t supervisor_ = ::getppid();
  Channel channel_;
  Outbox outbox_{channel_};
  UniqueFd signals_;
  UniqueFd wakeups_;
  std::unique_ptr<messages::Setup> setup_;
  ProcessId process_;
  std::unique_ptr<RigPage> page_;
  std::atomic<bool> abandoned_{false};
  Deadline leave_by_ = Deadline::max();
  bool channel_ready_ = false;  // these are of wait_for_events()
  bool signalled_ = false;
  bool woken_ = false;
};

// This process cannot go on: ends it without unwinding. Any thread.
[[noreturn]] void fail_process(const std::string& reason);

// What a process has under that id, for which a message is; null, and a line in the log, where it has nothing.
template <typename Id, typename Parts>
auto* part_of(std::string_view message, Id id, Parts& parts) {
  const auto found = parts.find(id);
  if (found == parts.end()) spdlog::warn("message '{}' is for number {}, which is not here", message, id.index());
  return found == parts.end() ? nullptr : found->second.get();
}
template <typename M, typename Cameras>
auto* camera_of(const M& message, Cameras& cameras) {
  return part_of(M::type, message.camera, cameras);
}
template <typename M, typename Outputs>
auto* output_of(const M& message, Outputs& outputs) {
  return part_of(M::type, message.output, outputs);
}

}  // namespace campipe
