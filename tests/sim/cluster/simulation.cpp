#include "tests/sim/cluster/simulation.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace campipe::sim {

Outcome run(const Scenario& scenario, bool traces) {
  spdlog::set_level(spdlog::level::off);
  Outcome outcome;
  Cluster cluster(scenario, traces ? &outcome.trace : nullptr);
  outcome.violation = cluster.run();
  outcome.reached = cluster.reached();
  return outcome;
}

// All of them, a half, a quarter … and at last one by one.
Scenario shrink(const Scenario& failing, const Violation& violation) {
  Scenario smallest = failing;
  for (std::size_t part = std::max<std::size_t>(1, failing.faults.size() / 2); part > 0;) {
    bool is_smaller = false;
    for (std::size_t first = 0; first < smallest.faults.size(); first += part) {
      Scenario tried = smallest;
      const auto from = tried.faults.begin() + static_cast<std::ptrdiff_t>(first);
      tried.faults.erase(from, from + static_cast<std::ptrdiff_t>(std::min(part, tried.faults.size() - first)));
      const auto again = run(tried, false).violation;
      if (!again || again->property != violation.property) continue;
      smallest = std::move(tried);
      is_smaller = true;
      break;
    }
    if (!is_smaller) part = part == 1 ? 0 : part / 2;
  }
  return smallest;
}

std::string report(std::uint64_t seed, const Violation& violation) {
  const Scenario smallest = shrink(make_scenario(seed), violation);
  const Outcome again = run(smallest, true);
  std::string text =
      fmt::format("seed {}: {} at {:.3f} s: {}\n", seed, violation.property, violation.at, violation.text);
  if (again.violation)
    text += fmt::format("with these faults alone, at {:.3f} s: {}\n", again.violation->at, again.violation->text);
  for (const Fault& fault : smallest.faults) text += "  " + describe(fault) + "\n";
  for (const std::string& line : again.trace) text += line + "\n";
  return text;
}

}  // namespace campipe::sim
