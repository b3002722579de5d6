// Bounds of time on a machine that others use, too: what threads waited for a CPU is not the program's fault, and does
// not count.
#pragma once

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace campipe::test {

// Of the calling thread, since it began.
inline std::chrono::nanoseconds thread_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// How long threads of these processes could have run since this was made, and waited for a CPU. Of a thread that has
// ended meanwhile counts what look() has seen.
class CpuWaits {
 public:
  explicit CpuWaits(std::vector<pid_t> processes = {::getpid()})
      : processes_(std::move(processes)), before_(of_threads()), newest_(before_) {}

  // Processes that began since then.
  void add(const std::vector<pid_t>& processes) {
    for (const pid_t process : processes) {
      if (std::ranges::count(processes_, process) == 0) processes_.push_back(process);
    }
  }
  void look() {
    for (auto& [thread, waited] : of_threads()) newest_[thread] = waited;
  }

  [[nodiscard]] std::chrono::nanoseconds so_far() const {
    auto threads = of_threads();
    threads.insert(newest_.begin(), newest_.end());  // those that have ended
    std::chrono::nanoseconds sum{0};
    for (const auto& [thread, waited] : threads) {
      const auto before = before_.find(thread);
      sum += waited - (before == before_.end() ? std::chrono::nanoseconds(0) : before->second);
    }
    return sum;
  }

 private:
  using Threads = std::map<std::string, std::chrono::nanoseconds>;  // by their folders in /proc

  [[nodiscard]] Threads of_threads() const {
    Threads all;
    for (const pid_t process : processes_) {
      std::error_code error;
      std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task", error);
      for (; !error && threads != std::filesystem::directory_iterator(); threads.increment(error)) {
        std::ifstream file(threads->path() / "schedstat");
        std::int64_t used = 0;
        std::int64_t waited = 0;
        if (file >> used >> waited) all[threads->path()] = std::chrono::nanoseconds(waited);
      }
    }
    return all;
  }

  std::vector<pid_t> processes_;
  Threads before_;
  Threads newest_;
};

// What has passed since it was made, but for the waits of this process for a CPU.
class Stopwatch {
 public:
  [[nodiscard]] Clock::duration elapsed() const {
    const Clock::duration passed = Clock::now() - begin_;
    return std::max(passed - waits_.so_far(), Clock::duration(0));
  }

 private:
  CpuWaits waits_;
  Clock::time_point begin_ = Clock::now();
};

// The shortest of a few tries, each of which returns how long it took: whoever waits for something fixed waits that
// long each time.
template <typename Try>
Clock::duration quickest(const Try& once) {
  Clock::duration shortest = once();
  for (int again = 0; again < 4; ++again) shortest = std::min(shortest, once());
  return shortest;
}

}  // namespace campipe::test
