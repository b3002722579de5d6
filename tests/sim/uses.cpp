#include "tests/sim/uses.h"

#include <algorithm>

namespace campipe::sim {

void Uses::begin(const std::string& camera, Part part, const std::string& process) {
  end(camera, part, process);
  uses_[camera].push_back({part, process, world_.now(), std::nullopt});
}

void Uses::end(const std::string& camera, Part part, const std::string& process) {
  for (Use& use : uses_[camera]) {
    if (use.part == part && use.process == process && !use.until) use.until = world_.now();
  }
}

// What it has delayed comes later, and what has died may wait for its restart.
void Uses::befall(const std::string& process, const Fault& fault) {
  troubles_[process].push_back({world_.now(), world_.now() + fault.lasts + longest_recovery, is_death(fault.kind)});
}

bool Uses::is_befallen(const std::string& camera, Part part, bool by_no_death) const {
  const auto its = uses_.find(camera);
  if (its == uses_.end()) return false;
  return std::ranges::any_of(its->second, [&](const Use& use) {
    const auto troubles = troubles_.find(use.process);
    if (use.part != part || troubles == troubles_.end()) return false;
    return std::ranges::any_of(troubles->second, [&](const Trouble& trouble) {
      if (by_no_death && trouble.is_death) return false;
      return trouble.until >= use.since && (!use.until || trouble.since <= *use.until);
    });
  });
}

}  // namespace campipe::sim
