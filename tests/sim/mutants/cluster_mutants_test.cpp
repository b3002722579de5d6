// Mistakes of the cluster that its simulation finds (cluster.txt).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/sim/cluster/simulation.h"
#include "tests/sim/mutants/quick_mutants.h"

namespace campipe::sim {

std::optional<std::string> failure_of(std::uint64_t seed, const std::string&, bool with_trace) {
  const auto violation = run(make_scenario(seed), false).violation;
  if (!violation) return std::nullopt;
  if (with_trace) return report(seed, *violation);
  return fmt::format("{} at {:.3f} s: {}", violation->property, violation->at, violation->text);
}

namespace CAMPIPE_FILE {

TEST(ClusterMutants, AreFound) { expect_quick_mutants_found(); }

}  // namespace CAMPIPE_FILE
}  // namespace campipe::sim
