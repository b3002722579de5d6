// The push targets of an output in the simulated publisher: each is connected to, fails while it is away, and is tried
// again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/camera_config.h"
#include "core/clock.h"
#include "ipc/ids.h"

namespace campipe::sim {

class Child;

class Pushes {
 public:
  Pushes(Child& child, OutputId output, const ResolvedOutput& config);
  void step();
  void close();

 private:
  struct Target {
    std::string url;
    Clock::time_point next;                             // that it is tried, or its failure found
    std::string state = {};                             // as the supervisor was told
    std::optional<Clock::time_point> sends_since = {};  // by a call that has not returned yet
  };
  [[nodiscard]] bool may_push() const;
  void connect(Target& target);
  void disconnect(Target& target);
  void count(const Target& target, bool is_open);
  void report(Target& target, const char* state, const std::string& cause);

  Child& child_;
  OutputId output_;
  std::string camera_;
  bool is_limited_;  // by a permit: of a node of a cluster
  std::vector<Target> targets_;
};

}  // namespace campipe::sim
