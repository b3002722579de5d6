// That the simulation still finds mistakes: those that the fewest seeds found.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/mutants/mutant.h"
#include "tests/sim/mutants/mutant_search.h"

namespace campipe::sim {

// Within more seeds than it took, since a change of what seeds mean makes it others.
inline void expect_quick_mutants_found() {
  constexpr std::size_t tried = 5;
  constexpr std::uint64_t seeds = 100;
  std::vector<Mutant> all = all_mutants();
  std::erase_if(all, [](const Mutant& mutant) { return !mutant.seed; });
  std::ranges::stable_sort(all, {}, [](const Mutant& mutant) { return *mutant.seed; });
  ASSERT_GE(all.size(), tried);
  all.resize(tried);
  for (const Mutant& mutant : all)
    EXPECT_TRUE(search(mutant, 0, seeds, false)) << mutant.name << " is not found: " << mutant.why;
}

}  // namespace campipe::sim
