#include "app/calibrate/stopwatch.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>

#include "core/error.h"

namespace campipe {
namespace {

double us_of(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) throw system_error("cannot read the CPU's clock", errno);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

}  // namespace

double process_cpu_us() { return us_of(CLOCK_PROCESS_CPUTIME_ID); }
double thread_cpu_us() { return us_of(CLOCK_THREAD_CPUTIME_ID); }

double cpu_us_of(const std::function<void()>& call, const Effort& effort) {
  using Micros = std::chrono::duration<double, std::micro>;
  call();
  double least = std::numeric_limits<double>::max();
  double spent = 0;
  for (int round = 0; round < effort.least_rounds || spent < Micros(effort.total).count(); ++round) {
    const double begin = process_cpu_us();
    double took = 0;
    int calls = 0;
    do {
      call();
      ++calls;
      took = process_cpu_us() - begin;
    } while (took < Micros(effort.round).count());
    least = std::min(least, took / calls);
    spent += took;
  }
  return least;
}

}  // namespace campipe
