// What the kernel reports of a thread and the CPUs: for how long it has run, and for how long it could have run, had
// there been one for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace campipe {

struct ThreadTimes {
  std::int64_t used = 0;    // ns on a CPU
  std::int64_t waited = 0;  // ns for a CPU, in waits that are over
  bool runnable = false;    // it runs, or waits for a CPU
};
// `schedstat`, `stat`: what is in /proc/PID/task/TID. Nothing: they are no such texts.
std::optional<ThreadTimes> parse_thread_times(std::string_view schedstat, std::string_view stat);
// Never waits: the kernel keeps it at hand. Nothing: there is no such thread.
std::optional<ThreadTimes> read_thread_times(pid_t process, pid_t thread);
// Whether one of its threads runs, or waits for a CPU, just now. Looks at each of them.
bool any_thread_runs(pid_t process);

// For how long a thread has waited for a CPU, with the wait that still goes on, which the kernel does not report.
class CpuWait {
 public:
  // To be called several times a second. ns since the last call.
  std::int64_t look(const ThreadTimes& times, std::int64_t now);

 private:
  ThreadTimes last_;
  std::int64_t looked_ = 0;  // when; 0: never
};

}  // namespace campipe
