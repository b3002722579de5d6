#include "tests/sim/cluster/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::array names{"kill",
                           "leave",
                           "stop",
                           "stop_agent",
                           "stop_rig",
                           "kill_agent",
                           "cut",
                           "drop_in",
                           "drop_out",
                           "slow_link",
                           "late_requests",
                           "stale_watch",
                           "compaction",
                           "leader_change",
                           "no_quorum",
                           "full",
                           "backup",
                           "lost_data",
                           "drain",
                           "wish",
                           "disk_full",
                           "cannot_run",
                           "slow_source",
                           "unusable",
                           "less_capacity",
                           "less_cameras",
                           "bad_offer",
                           "newer_offer",
                           "offer_of_nobody",
                           "candidate_of_nobody",
                           "effect_of_nobody",
                           "boast",
                           "false_recorder",
                           "bad_assignment",
                           "newer_assignment",
                           "bad_plan",
                           "twin"};
static_assert(names.size() == static_cast<std::size_t>(FaultKind::count));

constexpr Span first_fault = 20s;
constexpr Span storm_at = 30s;
constexpr Span calm = 45s;  // behind the last fault

// Some settle for longer than others, and overlap.
Fault make_fault(Random& random, const Scenario& scenario, Span at) {
  Fault fault;
  // Half of them are the ordinary ones.
  fault.kind = random.one_in(2) ? static_cast<FaultKind>(random.below(13))
                                : static_cast<FaultKind>(random.below(static_cast<std::uint64_t>(FaultKind::count)));
  fault.at = at;
  fault.lasts = random.one_in(3) ? random.between(200ms, 3s) : random.between(3s, 15s);
  fault.machine = random.below(scenario.capacity.size());
  fault.camera = random.below(scenario.cameras.size());
  fault.detail = random.next();
  constexpr std::array long_ones{FaultKind::slow_source, FaultKind::backup,   FaultKind::disk_full,
                                 FaultKind::cannot_run,  FaultKind::unusable, FaultKind::drain};
  if (std::ranges::find(long_ones, fault.kind) != long_ones.end()) fault.lasts += 20s;
  return fault;
}

// All nodes but one at most are gone at once: rather their network than they.
void add_storm(Random& random, Scenario& scenario) {
  constexpr std::array kinds{FaultKind::kill, FaultKind::cut, FaultKind::stop, FaultKind::stop_agent};
  const FaultKind kind = kinds.at(random.below(kinds.size()));
  const Span at = storm_at + random.between(Span{0}, 5s);
  const Span lasts = random.between(2s, 14s);
  const std::size_t spared = random.below(scenario.capacity.size() + 1);
  for (std::size_t i = 0; i < scenario.capacity.size(); ++i) {
    if (i != spared) scenario.faults.push_back({kind, at + random.between(Span{0}, 100ms), lasts, i, 0, 0});
  }
}

}  // namespace

const char* name_of(FaultKind kind) { return names.at(static_cast<std::size_t>(kind)); }

std::string describe(const Fault& fault) {
  return fmt::format("{} of n{} (c{}) at {:.3f} s for {:.3f} s", name_of(fault.kind), fault.machine, fault.camera,
                     std::chrono::duration<double>(fault.at).count(),
                     std::chrono::duration<double>(fault.lasts).count());
}

Scenario make_scenario(std::uint64_t seed) {
  Random random(seed * 0x2545f4914f6cdd1dU + 1);
  Scenario scenario;
  scenario.seed = seed;
  const std::size_t machines = 2 + random.below(4);
  const std::size_t cameras = 3 + random.below(10);
  // Room for all while a machine or two are away, as the manual recommends, but for some seeds.
  const double room = random.one_in(4) ? 1.1 : 2.2;
  const double each = std::max(2.0, room * static_cast<double>(cameras) / static_cast<double>(machines));
  for (std::size_t i = 0; i < machines; ++i) {
    scenario.capacity.push_back({{"cores", std::max(2.0, each + static_cast<double>(random.below(3)))}});
    if (random.one_in(3)) scenario.capacity.back()["decode"] = each / 2;
    scenario.runs_the_last.push_back(random.one_in(2));
  }
  for (std::size_t i = 0; i < cameras; ++i) {
    CameraSpec camera{fmt::format("c{}", i), 50, {}};
    if (random.one_in(4)) camera.priority = static_cast<int>(random.below(100));
    if (random.one_in(3)) camera.ways.push_back({{"decode", 1}, {"cores", 0.25}});
    camera.ways.push_back({{"cores", random.one_in(5) ? 2.0 : 1.0}});
    if (random.one_in(3)) camera.on_partition = OnPartition::stop;
    camera.pushes = random.one_in(2);
    if (random.one_in(6) && camera.ways.size() == 1) camera.unit = "wall";
    scenario.cameras.push_back(std::move(camera));
  }
  if (random.one_in(5)) add_storm(random, scenario);
  // While the first plan is written.
  if (random.one_in(3)) {
    Fault early = make_fault(random, scenario, random.between(300ms, 3s));
    early.kind = random.one_in(2) ? FaultKind::slow_link : FaultKind::stale_watch;
    scenario.faults.push_back(early);
  }
  Span at = first_fault;
  const std::size_t faults = 3 + random.below(6);
  for (std::size_t i = 0; i < faults; ++i) {
    const Fault fault = make_fault(random, scenario, at);
    scenario.faults.push_back(fault);
    // Where somebody wants the camera at a node where its source does not open, the node before goes on.
    if (fault.kind == FaultKind::slow_source) {
      Fault wish = fault;
      wish.kind = FaultKind::wish;
      wish.at += 100ms;
      scenario.faults.push_back(wish);
    }
    // What has moved since a backup: nodes that start by its plan obey that; one that has seen a newer one does not.
    if (fault.kind == FaultKind::backup)
      scenario.faults.push_back({FaultKind::kill, fault.at - 9s, 7s, (fault.machine + 1) % machines, 0, 0});
    for (std::size_t other = 0; fault.kind == FaultKind::backup && other < machines; ++other) {
      if (other != fault.machine && fault.detail % 2 == 0)
        scenario.faults.push_back({FaultKind::kill, fault.at + 100ms, 1500ms, other, 0, 0});
    }
    const bool is_restored = fault.kind == FaultKind::backup || fault.kind == FaultKind::lost_data;
    if (is_restored && fault.detail % 3 == 0)
      scenario.faults.push_back({FaultKind::kill_agent, fault.at + 2s, 1s, fault.machine, 0, 0});
    // What the node before it had withdrawn, its successor does not miss.
    if (fault.kind == FaultKind::unusable)
      scenario.faults.push_back({FaultKind::kill_agent, fault.at + fault.lasts / 2, 1s, fault.machine, 0, 0});
    // One in three begins while another one is there.
    at += random.one_in(3) ? random.between(100ms, 5s) : fault.lasts + random.between(8s, 25s);
  }
  for (const Fault& fault : scenario.faults)
    scenario.faults_end = std::max(scenario.faults_end, fault.at + fault.lasts);
  scenario.end = scenario.faults_end + calm;
  return scenario;
}

}  // namespace campipe::sim
