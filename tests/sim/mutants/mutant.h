// Mistakes of the past, as switches in copies of the code (make_mutants.py): whether the simulations still find them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace campipe::sim {

struct Mutant {
  std::string name;
  std::string commit;                 // that mended it, or how it came to be thought of
  std::optional<std::uint64_t> seed;  // the first that found it; none: none has
  std::string of;                     // "placement": of those seeds (tools/simulate --placement); empty: of all others
  std::string why;
};

// Of this program.
const std::vector<Mutant>& all_mutants();

// Makes that mistake from now on, and no other; with "", none. Throws where there is no such one.
void choose_mutant(const std::string& name);
// Asked by the copies.
bool is_mutant(std::string_view name);

}  // namespace campipe::sim
