#include "tests/sim/cluster_faults.h"

#include <algorithm>
#include <array>

namespace campipe::sim {
namespace {

constexpr std::uint64_t most_cluster_faults = 6;
constexpr auto soon_again = seconds(2);  // after the one before, where they come together
constexpr auto longest = seconds(9);

// Each as often as it stands here. Those of processes befall the node's process `cluster`.
constexpr std::array chosen{
    FaultKind::given_away, FaultKind::given_away, FaultKind::given_away,  FaultKind::given_away, FaultKind::given_away,
    FaultKind::cut_off,    FaultKind::cut_off,    FaultKind::cut_off,     FaultKind::late,       FaultKind::late,
    FaultKind::kill,       FaultKind::kill,       FaultKind::exits,       FaultKind::silent,     FaultKind::stopped,
    FaultKind::slow,       FaultKind::deaf,       FaultKind::start_fails, FaultKind::slow_death, FaultKind::lies,
    FaultKind::name_taken, FaultKind::disk_full,  FaultKind::targets_away};

bool is_moment(FaultKind kind) {
  return is_death(kind) || kind == FaultKind::start_fails || kind == FaultKind::slow_death || kind == FaultKind::lies;
}

}  // namespace

std::vector<Fault> cluster_faults_of(std::uint64_t seed, nanoseconds first, nanoseconds last) {
  Chance chance(seed * 2 + 5'000'000'029);
  std::vector<Fault> faults;
  const std::uint64_t count = chance.below(most_cluster_faults + 1);
  nanoseconds at{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = chosen.at(chance.below(chosen.size()));
    fault.part = Part::cluster;
    const bool together = i > 0 && chance.one_in(2);
    at = std::min(together ? at + chance.between(nanoseconds(0), soon_again) : chance.between(first, last), last);
    fault.at = at;
    const bool is_short = chance.one_in(3);
    fault.lasts = is_short ? chance.between(milliseconds(1), seconds(1)) : chance.between(seconds(1), longest);
    if (is_moment(fault.kind)) fault.lasts = nanoseconds(0);
    fault.detail = chance.below(5);  // no disk breaks, which all nodes write to
    fault.camera = chance.below(4);
    faults.push_back(fault);
    // What the node and its process know of each other differs for a while.
    if (fault.kind == FaultKind::given_away && chance.one_in(3))
      faults.push_back({FaultKind::late, Part::cluster, at, fault.lasts + chance.between(seconds(1), seconds(6))});
  }
  return faults;
}

}  // namespace campipe::sim
