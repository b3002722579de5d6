#include "app/control/thread_times.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/unique_handle.h"

namespace campipe {
namespace {

// Empty: it cannot be read.
std::string read_start(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

std::optional<ThreadTimes> parse_thread_times(std::string_view schedstat, std::string_view stat) {
  const std::string text(schedstat);
  char* first = nullptr;
  const std::int64_t used = std::strtoll(text.c_str(), &first, 10);
  char* second = nullptr;
  const std::int64_t waited = std::strtoll(first, &second, 10);
  if (first == text.c_str() || second == first) return std::nullopt;
  const auto name_end = stat.rfind(')');  // a name may hold any character
  if (name_end == std::string_view::npos) return std::nullopt;
  return ThreadTimes{used, waited, stat.substr(name_end).starts_with(") R")};
}

std::optional<ThreadTimes> read_thread_times(pid_t process, pid_t thread) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread);
  return parse_thread_times(read_start(folder + "/schedstat"), read_start(folder + "/stat"));
}

bool any_thread_runs(pid_t process) {
  std::error_code gone;  // the process may end meanwhile
  std::filesystem::directory_iterator task("/proc/" + std::to_string(process) + "/task", gone);
  for (; !gone && task != std::filesystem::directory_iterator(); task.increment(gone)) {
    const auto times = parse_thread_times("0 0", read_start(task->path() / "stat"));
    if (times && times->runnable) return true;
  }
  return false;
}

std::int64_t CpuWait::look(const ThreadTimes& times, std::int64_t now) {
  const std::int64_t passed = looked_ == 0 ? 0 : std::max<std::int64_t>(now - looked_, 0);
  const std::int64_t grown = times.runnable ? passed - (times.used - last_.used) : times.waited - last_.waited;
  last_ = times;
  looked_ = now;
  return std::clamp<std::int64_t>(grown, 0, passed);  // the rest of a wait that is over was counted while it went on
}

}  // namespace campipe
