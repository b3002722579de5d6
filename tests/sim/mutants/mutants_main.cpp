// The tests; or, with --mutants or --mutant, the list of a simulation's mistakes and the search for them
// (tools/simulate).
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/mutants/mutant.h"
#include "tests/sim/mutants/mutant_search.h"

namespace {

namespace sim = campipe::sim;

struct Asked {
  bool lists = false;
  std::string mutant;
  std::uint64_t seeds = 2000;
  std::uint64_t from = 0;
  bool trace = false;
};

void print_list() {
  for (const sim::Mutant& mutant : sim::all_mutants()) {
    std::cout << mutant.name << '\t' << mutant.commit << '\t' << mutant.why << '\t'
              << (mutant.seed ? std::to_string(*mutant.seed) : "not found") << (mutant.of.empty() ? "" : " of ")
              << mutant.of << '\n';
  }
}

bool is_found(const sim::Mutant& mutant, const Asked& asked) {
  const auto found = sim::search(mutant, asked.from, asked.seeds, asked.trace);
  if (found)
    std::cout << mutant.name << ": seed " << found->seed << ": " << found->failure << std::endl;
  else
    std::cout << mutant.name << ": not found by " << asked.seeds << " seeds" << std::endl;
  return found.has_value();
}

int search(const Asked& asked) {
  if (asked.mutant != "all") {
    const auto mutant = std::ranges::find(sim::all_mutants(), asked.mutant, &sim::Mutant::name);
    if (mutant == sim::all_mutants().end()) throw std::runtime_error("there is no mutant " + asked.mutant);
    return is_found(*mutant, asked) ? 1 : 0;
  }
  std::size_t found = 0;
  for (const sim::Mutant& mutant : sim::all_mutants()) found += is_found(mutant, asked) ? 1 : 0;
  std::cout << found << " of " << sim::all_mutants().size() << " mutants found\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool searches =
      std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word).starts_with("--mutant"); });
  if (!searches) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  CLI::App app{"Whether a simulation finds mistakes.", "simulate"};
  Asked asked;
  app.add_flag("--mutants", asked.lists, "print them: name, commit, why, and the seed that found it");
  app.add_option("--mutant", asked.mutant, "the one to be made, or `all` of them, one after the other");
  app.add_option("--seeds", asked.seeds, "so many at most, until one fails");
  app.add_option("--from", asked.from, "the first one");
  app.add_flag("--trace", asked.trace, "print the faults that are needed, and what happens");
  CLI11_PARSE(app, argc, argv);
  if (asked.lists) print_list();
  return asked.mutant.empty() ? 0 : search(asked);
}
