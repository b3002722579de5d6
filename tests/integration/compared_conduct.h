// What differs between the conduct of real processes and that of simulated ones.
#pragma once

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/conduct.h"

namespace campipe::test {

inline std::vector<std::string> missing_in(const std::set<std::string>& these, const std::set<std::string>& those) {
  std::vector<std::string> left;
  std::ranges::set_difference(those, these, std::back_inserter(left));
  return left;
}

// Each step that `one` has taken before it was sent something that `other` always was sent before.
inline std::vector<std::string> too_early(const sim::ConductFacts& one, const sim::ConductFacts& other) {
  std::vector<std::string> all;
  for (const auto& [step, kinds] : other.told) {
    const auto found = one.told.find(step);
    if (found == one.told.end()) continue;
    for (const std::string& kind : missing_in(found->second, kinds)) all.push_back(step + " before " + kind);
  }
  return all;
}

}  // namespace campipe::test
