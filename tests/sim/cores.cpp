#include "tests/sim/cores.h"

#include <algorithm>

namespace campipe::sim {
namespace {

constexpr double idle_part = 0.9;  // of a core that no other program takes

}  // namespace

void Cores::take(const std::vector<unsigned>& cores, Clock::time_point until) {
  spells_.push_back({cores, world_.now(), until});
}

CoreTimes Cores::idle() const {
  CoreTimes times;
  for (unsigned core = 0; core < number; ++core) {
    double taken = 0;
    Clock::time_point counted{};  // spells may overlap, and are in the order of their beginnings
    for (const Spell& spell : spells_) {
      const bool its = spell.cores.empty() || std::ranges::find(spell.cores, core) != spell.cores.end();
      const auto since = std::max(spell.since, counted);
      const auto until = std::min(spell.until, world_.now());
      if (!its || until <= since) continue;
      taken += std::chrono::duration<double>(until - since).count();
      counted = until;
    }
    times[core] = idle_part * (world_.seconds_run() - taken);
  }
  return times;
}

}  // namespace campipe::sim
