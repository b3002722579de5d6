// Seeds one after the other, and what they reach together.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/seeds.h"

namespace campipe::sim {

// The first `count` seeds hold, and each of `awaited` is reached by one at least: else they would prove less than
// they seem to.
inline void expect_seeds_hold(Seeds& seeds, std::uint64_t count, const std::vector<std::string>& awaited) {
  std::map<std::string, std::uint64_t> reached;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Outcome outcome = seeds.run(seed);
    ASSERT_FALSE(outcome.failure) << Seeds::describe(seed, outcome, seeds.shrunk());
    for (const auto& [what, times] : outcome.reached) reached[what] += times;
  }
  for (const std::string& what : awaited) EXPECT_GT(reached[what], 0U) << what << " is reached by no seed";
}

}  // namespace campipe::sim
