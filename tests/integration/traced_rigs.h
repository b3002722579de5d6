// Small rigs of real processes, whose messages are traced (app/control/process_trace.h): what happens in them is what
// simulated rigs have, too.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/sim/conduct.h"

namespace campipe::test {

struct TracedRig {
  std::string name;
  // Returns its trace, a message a line. Throws Error where it does not come as far as it should.
  std::function<std::vector<nlohmann::json>()> run;
};

std::vector<TracedRig> traced_rigs();

sim::ConductFacts conduct_in(const std::vector<nlohmann::json>& trace);

}  // namespace campipe::test
