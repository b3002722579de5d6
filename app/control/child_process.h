// A process that this one has started: messages to and from it, how it does, and its end. The real ones are
// StartedProcess (app/control/started_process.h); a simulation has others. Used by one thread. No call waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/control/waits.h"
#include "core/clock.h"
#include "ipc/channel.h"

namespace campipe {

struct ExitInfo {
  int status = 0;    // as waitpid() gives it
  double cpu_s = 0;  // user and system time of its whole life
};
// "exit status 1", "signal 9 (Killed)".
std::string describe(const ExitInfo& info);
// Nothing: a signal ended it.
std::optional<int> exit_status(const ExitInfo& info);
// By a fault of its own, not killed from outside.
bool crashed(const ExitInfo& info);

class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  virtual ~ChildProcess() = default;  // kills what still runs, and waits for its end

  [[nodiscard]] virtual pid_t pid() const = 0;
  [[nodiscard]] virtual Clock::time_point started() const = 0;

  // Sends the message, or keeps it until there is room (Outbox::send()).
  virtual bool send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) = 0;
  // Some messages are kept: flush() sends what there is room for. To be called a few times a second.
  [[nodiscard]] virtual bool has_unsent() const = 0;
  virtual void flush() = 0;
  // The next message, if one is there (Channel::receive()).
  virtual std::optional<Message> receive(std::string_view large = {}) = 0;
  // What shows that there is something to receive or to send, or that the process has ended. Nothing that has ended is
  // waited for: it would wake the loop without end.
  virtual void add_waits(Waits& waits) const = 0;

  // Of its main thread since it was started, in ns: what it has used, and for how long it waited for a CPU. To be
  // called several times a second.
  struct CpuTimes {
    std::int64_t used = 0;
    std::int64_t waited = 0;
  };
  virtual CpuTimes look_at_main_thread() = 0;
  // One of its threads runs, or waits for a CPU, just now.
  [[nodiscard]] virtual bool any_thread_runs() const = 0;
  // Processor time of all its threads; 0 where it is just ending.
  [[nodiscard]] virtual double cpu_seconds() const = 0;

  // Gives it so much time from now on. The time that its main thread waits for a CPU does not count: on a busy machine
  // it takes longer, and nothing hangs.
  void allow(Clock::duration time);
  // The time that it was allowed is over. To be called several times a second.
  [[nodiscard]] bool is_late();

  virtual void kill() = 0;
  [[nodiscard]] virtual bool killed() const = 0;
  // Kills it, and does not wait for its end, which a disk may hold up.
  virtual void leave_behind() = 0;
  // Nothing while it runs. Afterwards, what it has sent can still be received.
  virtual std::optional<ExitInfo> reap() = 0;

 private:
  Deadline deadline_ = Deadline::max();
  std::int64_t waited_before_ = 0;  // for a CPU, ns, until deadline_ was set
};

// Starts this program as `arguments` (e.g. {"worker", "0"}), with `variables` beside or instead of those of this
// process's environment. Throws Error.
using StartProcess = std::function<std::unique_ptr<ChildProcess>(const std::vector<std::string>& arguments,
                                                                 const std::vector<std::string>& variables)>;

}  // namespace campipe
