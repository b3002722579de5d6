// The push targets of an output in the simulated publisher: each is connected to, fails while it is away, and is tried
// again.
#pragma once

#include <string>
#include <vector>

#include "core/clock.h"
#include "ipc/ids.h"
#include "stages/sinks/push_url.h"

namespace campipe::sim {

class Child;

class Pushes {
 public:
  Pushes(Child& child, OutputId output, const std::vector<PushUrl>& urls);
  void step();

 private:
  struct Target {
    std::string url;
    Clock::time_point next;  // that it is tried, or its failure found
    std::string state = {};  // as the supervisor was told
  };
  void report(Target& target, const char* state, const std::string& cause);

  Child& child_;
  OutputId output_;
  std::vector<Target> targets_;
};

}  // namespace campipe::sim
