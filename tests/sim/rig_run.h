// One run of a simulated rig: the real supervisor on a simulated machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/conduct.h"
#include "tests/sim/fault.h"
#include "tests/sim/rig_choice.h"

namespace campipe::sim {

struct Outcome {
  std::optional<std::string> failure;  // the first property that did not hold
  std::vector<std::string> trace;
  std::map<std::string, std::uint64_t> reached;
  ConductFacts conduct;  // of its processes
  double virtual_s = 0;
  double cpu_s = 0;
  std::uint64_t turns = 0;        // of the supervisor's loop
  std::uint64_t descriptors = 0;  // that were open when SIGTERM came
};

// Lines of its trace that have this in them.
inline std::ptrdiff_t lines_with(const Outcome& outcome, const std::string& text) {
  return std::ranges::count_if(outcome.trace,
                               [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

// In a process of its own, since logging is one for a process. `on_hopeless` is called where the supervisor does not
// end, and must end the process.
Outcome run_rig(std::uint64_t seed, const Course& course, const RigChoice& choice,
                const std::function<void(const Outcome&)>& on_hopeless);

}  // namespace campipe::sim
