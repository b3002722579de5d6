// The cores of the simulated machine: how long each had nothing to do. A process is slow since another program takes
// its cores' time.
#pragma once

#include <vector>

#include "app/control/core_times.h"
#include "core/clock.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Cores {
 public:
  static constexpr unsigned number = 4;

  explicit Cores(const World& world) : world_(world) {}

  // None named: all of them.
  void take(const std::vector<unsigned>& cores, Clock::time_point until);
  [[nodiscard]] CoreTimes idle() const;

 private:
  struct Spell {
    std::vector<unsigned> cores;
    Clock::time_point since;
    Clock::time_point until;
  };

  const World& world_;
  std::vector<Spell> spells_;
};

}  // namespace campipe::sim
