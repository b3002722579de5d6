#include "tests/sim/mutants/mutant.h"

#include <algorithm>
#include <stdexcept>

namespace campipe::sim {
namespace {

std::string chosen;

}  // namespace

void choose_mutant(const std::string& name) {
  if (!name.empty() && std::ranges::find(all_mutants(), name, &Mutant::name) == all_mutants().end())
    throw std::runtime_error("there is no mutant " + name);
  chosen = name;
}

bool is_mutant(std::string_view name) { return chosen == name; }

}  // namespace campipe::sim
