// Mistakes of the supervisor that the simulated rig finds (rig.txt), and the tests of those that it cannot find
// (not_reached.txt), and what takes the place of tests that are no more (replaced.txt).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "tests/paths.h"
#include "tests/sim/mutants/mutant.h"
#include "tests/sim/mutants/quick_mutants.h"
#include "tests/sim/seeds.h"

namespace campipe::sim {

std::optional<std::string> failure_of(std::uint64_t seed, const std::string& of, bool with_trace) {
  constexpr auto length = seconds(120);  // as in tools/simulate, whose seeds hold
  static std::map<std::string, Seeds> all;
  static const std::map<std::string, Varies> known{
      {"", Varies::moves},         {"changes", Varies::configuration}, {"placement", Varies::placement},
      {"groups", Varies::groups},  {"mosaics", Varies::mosaics},       {"together", Varies::together},
      {"cluster", Varies::cluster}};
  const Varies varies = known.at(of);
  Seeds& seeds = all.try_emplace(of, simulated_rigs(varies), length, varies).first->second;
  if (!with_trace) return seeds.run(seed, seeds.course(seed)).failure;
  const Outcome outcome = seeds.run(seed);
  if (!outcome.failure) return std::nullopt;
  return Seeds::describe(seed, outcome, seeds.shrunk());
}

namespace CAMPIPE_FILE {

TEST(RigMutants, AreFound) { expect_quick_mutants_found(); }

std::string text_of(const std::string& file) {
  std::ifstream in(std::string(test::source_folder) + '/' + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool has_test(const std::string& file, const std::string& suite, const std::string& test) {
  return std::regex_search(text_of(file), std::regex("TEST(_F|_P)?\\(" + suite + ", " + test + "\\)"));
}

TEST(RigMutants, ThatCannotBeFoundHaveATest) {
  const std::regex row("[0-9a-f]{8} (\\S+) (\\w+)\\.(\\w+): .+");
  std::istringstream lines(text_of("tests/sim/mutants/not_reached.txt"));
  unsigned tests = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::smatch found;
    ASSERT_TRUE(std::regex_match(line, found, row)) << line;
    EXPECT_TRUE(has_test(found[1], found[2], found[3])) << line;
    ++tests;
  }
  EXPECT_GE(tests, 10U);
}

// "tests/unit/app_test.cpp RestartPolicy.Waits", or a mutant that is found.
void expect_to_be_there(const std::string& substitute) {
  static const std::regex row("(\\S+) (\\w+)\\.(\\w+)");
  std::smatch test;
  if (std::regex_match(substitute, test, row)) {
    EXPECT_TRUE(has_test(test[1], test[2], test[3])) << substitute;
    return;
  }
  const auto mutant = std::ranges::find(all_mutants(), substitute, &Mutant::name);
  ASSERT_NE(mutant, all_mutants().end()) << substitute;
  EXPECT_TRUE(mutant->seed) << substitute << " is found by no seed";
}

TEST(RigMutants, AndTestsTakeThePlaceOfThoseThatAreNoMore) {
  const std::regex row("(\\S+) (\\w+)\\.(\\w+)(/\\w+)?: (.+)");
  std::istringstream lines(text_of("tests/sim/mutants/replaced.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    SCOPED_TRACE(line);
    std::smatch found;
    ASSERT_TRUE(std::regex_match(line, found, row));
    const bool is_one_of_several = found[4].matched;
    EXPECT_FALSE(!is_one_of_several && has_test(found[1], found[2], found[3])) << "it is there still";
    std::istringstream substitutes(found[5].str());
    for (std::string substitute; std::getline(substitutes >> std::ws, substitute, ',');) expect_to_be_there(substitute);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::sim
