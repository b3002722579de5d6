// How long a piece of work takes.
#pragma once

#include <chrono>
#include <functional>

namespace campipe {

// CPU time so far, of all threads of this process, and of the calling one.
double process_cpu_us();
double thread_cpu_us();

struct Effort {
  std::chrono::milliseconds round{4};  // calls are repeated until they last so long
  std::chrono::milliseconds total{25};
  int least_rounds = 2;
};

// µs of CPU time that one call takes: of several rounds the least, since all else that runs can only add to it. The
// first call, which allocates, does not count. Nothing else may be at work in this process.
double cpu_us_of(const std::function<void()>& call, const Effort& effort = {});

}  // namespace campipe
