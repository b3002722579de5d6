// One run of a simulated rig: the real supervisor on a simulated machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/config/rig_config.h"
#include "tests/sim/fault.h"

namespace campipe::sim {

struct Outcome {
  std::optional<std::string> failure;  // the first property that did not hold
  std::vector<std::string> trace;
  std::map<std::string, std::uint64_t> reached;
  double virtual_s = 0;
  double cpu_s = 0;
  std::uint64_t turns = 0;  // of the supervisor's loop
};

// In a process of its own, since logging is one for a process. `on_hopeless` is called where the supervisor does not
// end, and must end the process.
Outcome run_rig(std::uint64_t seed, const Course& course, const RigConfig& rig,
                const std::function<void(const Outcome&)>& on_hopeless);

}  // namespace campipe::sim
