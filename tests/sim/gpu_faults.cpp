#include "tests/sim/gpu_faults.h"

#include <algorithm>

namespace campipe::sim {
namespace {

constexpr std::uint64_t most_gpu_faults = 3;
constexpr std::uint64_t most_users = 4;  // of a part
constexpr auto soon_again = seconds(3);  // after the one before, where they come together
constexpr auto longest_absence = seconds(15);

}  // namespace

std::vector<Fault> gpu_faults_of(std::uint64_t seed, nanoseconds first, nanoseconds last) {
  Chance chance(seed * 2 + 3'000'000'017);
  std::vector<Fault> faults;
  const std::uint64_t count = 1 + chance.below(most_gpu_faults);
  const bool is_missing = chance.one_in(8);
  nanoseconds at{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    Fault fault;
    const bool together = i > 0 && chance.one_in(2);
    at = std::min(together ? at + chance.between(nanoseconds(0), soon_again) : chance.between(first, last), last);
    if (i == 0 && is_missing) at = nanoseconds(0);
    fault.at = at;
    fault.kind = at.count() > 0 && chance.one_in(3) ? FaultKind::context_lost : FaultKind::gpu_away;
    fault.part = chance.one_in(3) ? Part::master : Part::worker;
    fault.process = chance.below(most_users);
    fault.camera = chance.below(2);
    fault.detail = chance.below(6);
    const bool is_short = chance.one_in(3);
    if (fault.kind == FaultKind::gpu_away)
      fault.lasts =
          is_short ? chance.between(milliseconds(100), seconds(3)) : chance.between(seconds(3), longest_absence);
    faults.push_back(fault);
  }
  return faults;
}

}  // namespace campipe::sim
