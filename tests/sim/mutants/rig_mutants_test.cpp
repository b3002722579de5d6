// Mistakes of the supervisor that the simulated rig finds (rig.txt), and the tests of those that it cannot find
// (not_reached.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "tests/paths.h"
#include "tests/sim/mutants/quick_mutants.h"
#include "tests/sim/seeds.h"

namespace campipe::sim {

std::optional<std::string> failure_of(std::uint64_t seed, const std::string& of, bool with_trace) {
  constexpr auto length = seconds(120);  // as in tools/simulate, whose seeds hold
  static std::map<std::string, Seeds> all;
  static const std::map<std::string, Varies> known{
      {"", Varies::moves}, {"placement", Varies::placement}, {"groups", Varies::groups}, {"mosaics", Varies::mosaics}};
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

TEST(RigMutants, ThatCannotBeFoundHaveATest) {
  const std::regex row("[0-9a-f]{8} (\\S+) (\\w+)\\.(\\w+): .+");
  std::istringstream lines(text_of("tests/sim/mutants/not_reached.txt"));
  unsigned tests = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::smatch found;
    ASSERT_TRUE(std::regex_match(line, found, row)) << line;
    EXPECT_THAT(text_of(found[1]),
                testing::ContainsRegex("TEST(_F|_P)?\\(" + found[2].str() + ", " + found[3].str() + "\\)"));
    ++tests;
  }
  EXPECT_GE(tests, 10U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::sim
