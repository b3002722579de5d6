#include "tests/sim/cluster/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/cluster/election.h"

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;
using enum FaultKind;

// docs/cluster.md: a camera is somewhere else within the lease and so long.
constexpr std::chrono::seconds to_begin{3};
constexpr Span hand_over_ends = 5s;       // once the next node records
constexpr Span restored_hand_over = 30s;  // NodeHandOver::patience is in it
constexpr Span stop_ends = 700ms;         // a turn of the supervisor, and its files
constexpr Span room_is_used = 6s;
constexpr Span all_is_over = 25s;     // what faults leave behind them
constexpr double first_plan_by = 15;  // seconds since the beginning
constexpr int slow_samples = 4;       // one in so many

}  // namespace

void Checks::fail(const std::string& property, const std::string& text) {
  if (!violation_) violation_ = {property, text, cluster_.world().seconds()};
}

bool Checks::has(std::initializer_list<FaultKind> kinds) const {
  return std::ranges::any_of(cluster_.active(),
                             [&](const Fault* fault) { return std::ranges::find(kinds, fault->kind) != kinds.end(); });
}

bool Checks::has_of(const std::string& node, std::initializer_list<FaultKind> kinds) const {
  return std::ranges::any_of(cluster_.active(), [&](const Fault* fault) {
    return cluster_.machines()[fault->machine]->node() == node && std::ranges::find(kinds, fault->kind) != kinds.end();
  });
}

bool Checks::had(std::initializer_list<FaultKind> kinds, Span ago) const {
  return std::ranges::any_of(kinds, [&](FaultKind kind) {
    const auto found = last_there_.find(kind);
    return found != last_there_.end() && now() < found->second + ago;
  });
}

const SimMachine* Checks::machine_of(const std::string& node) const {
  for (const auto& machine : cluster_.machines()) {
    if (machine->node() == node && machine->is_on()) return machine.get();
  }
  return nullptr;
}

const CameraAssignment* Checks::assignment(const std::string& camera) const {
  const auto found = plan_.cameras.find(camera);
  return found == plan_.cameras.end() ? nullptr : &found->second.assignment;
}

void Checks::read_plan_again() {
  if (!std::exchange(plan_is_new_, false)) return;
  plan_ = read_plan(cluster_.etcd().keys(), cluster_.keys());
  const auto elected = elected_planner(cluster_.etcd().keys(), cluster_.keys());
  planner_ = elected ? elected->node : "";
}

void Checks::note_present() {
  cluster_.etcd().keys().each_below(cluster_.keys().nodes(), [&](std::string_view node, const EtcdKeyValue& value) {
    if (value.lease != 0) last_present_[std::string(node)] = now();
  });
}

Checks::Writers Checks::writers() const {
  Writers all;
  for (const auto& machine : cluster_.machines()) {
    if (machine->rig() == nullptr) continue;
    for (auto& [camera, fence] : machine->rig()->writers()) all[camera][machine.get()] = std::move(fence);
  }
  return all;
}

void Checks::sample() {
  read_plan_again();
  note_present();
  for (const Fault* fault : cluster_.active()) {
    last_there_[fault->kind] = now();
    last_of_[{cluster_.machines()[fault->machine]->node(), fault->kind}] = now();
    if (fault->is_of_machine()) last_gone_[fault->machine] = now();
  }
  check_leases();
  check_pushes();
  if (++samples_ % slow_samples != 0) return;
  const Writers writing = writers();
  check_files(writing);
  check_overlaps(writing);
  check_coverage(writing);
  check_room();
  check_known();
  note_states();
}

bool Checks::may_be_gone(const std::string& node, Span ago) const {
  const auto was = [&](FaultKind kind) {
    const auto found = last_of_.find({node, kind});
    return found != last_of_.end() && now() < found->second + ago;
  };
  return std::ranges::any_of(std::initializer_list<FaultKind>{kill, leave, stop, stop_agent, cut, drop_in, drop_out,
                                                              slow_link, late_requests, bad_offer, newer_offer, twin,
                                                              offer_of_nobody, candidate_of_nobody},
                             was) ||
         had({leader_change, no_quorum, full, backup, lost_data}, ago);
}

// Nobody takes the plan for an older one, unless etcd is another one.
void Checks::check_known() {
  if (had({backup, lost_data, bad_plan}, 24h)) return;
  for (const auto& machine : cluster_.machines()) {
    if (machine->agent() == nullptr) continue;
    const NodeView& view = machine->agent()->view();
    if (view.plan.revision > 0 && !view.plan_is_known && view.sees_itself)
      return fail("plan", machine->node() + " takes the plan for an older one");
  }
}

// The node's own time is over before the lease's is, whatever the network does. A store that was replaced knows nothing
// of its leases.
void Checks::check_leases() {
  if (had({backup, lost_data}, 2 * Cluster::ttl)) return;
  for (const auto& machine : cluster_.machines()) {
    SimAgent* const agent = machine->agent();
    if (agent == nullptr || agent->process().is_stopped() || agent->is_leaving()) continue;
    const MembershipState& membership = agent->view().membership;
    if (membership.stage != MembershipState::Stage::member || now() >= membership.effects_end) continue;
    if (!cluster_.etcd().lease_lives(membership.lease))
      return fail("lease", machine->node() + " believes in a lease that is dead");
  }
}

void Checks::check_pushes() {
  if (had({backup, lost_data}, 2 * Cluster::ttl)) return;
  for (const CameraSpec& camera : cluster_.scenario().cameras) {
    std::string first;
    for (const auto& machine : cluster_.machines()) {
      if (machine->rig() == nullptr || !machine->rig()->pushes(camera.name)) continue;
      cluster_.reach("pushes");
      if (!first.empty())
        return fail("pushes", fmt::format("{} is pushed by {} and {}", camera.name, first, machine->node()));
      first = machine->node();
    }
  }
}

void Checks::check_files(const Writers& writers) {
  for (const auto& [camera, by] : writers) {
    std::map<std::string, const SimMachine*> files;
    for (const auto& [machine, fence] : by) {
      const auto [other, is_new] = files.emplace(machine->node() + "@" + fence, machine);
      if (is_new) continue;
      // One that was stopped, and whose name another start has got meanwhile, sees that once it goes on.
      if (has_of(machine->node(), {stop_agent, stop_rig})) continue;
      const Time since = same_file_since_.try_emplace(camera + "@" + other->first, now()).first->second;
      if (!had({twin}, 20s) || now() - since > stop_ends)
        return fail("files", fmt::format("two write {}@{}", camera, other->first));
    }
  }
}

void Checks::on_begins_to_write(SimMachine& by, const std::string& camera, const std::string& text) {
  const Fence fence = read_fence(text).value_or(Fence());
  Fence& highest = written_under_[{by.node(), by.starts()}][camera];
  if (fence < highest)
    fail("fences", fmt::format("{} writes {} under {} after {}", by.node(), camera, text, text_of(highest)));
  highest = std::max(highest, fence);
}

// A camera that must not run twice has ended at the node before, unless that one does not hear that it is to end
// although its lease lives, or its supervisor does nothing.
bool Checks::may_still_run(const SimMachine& machine) const {
  const std::string& node = machine.node();
  const bool has_lease = cluster_.etcd().keys().find(cluster_.keys().node(node)) != nullptr;
  const bool is_deaf = has_of(node, {stale_watch, slow_link, late_requests, cut, drop_in, drop_out, stop_agent});
  return (has_lease && is_deaf) || has_of(node, {stop_rig}) || had({kill_agent}, 1s) ||
         had({backup, lost_data, bad_plan, newer_assignment, no_quorum, leader_change}, 2 * Cluster::ttl);
}

// One that is recorded on both nodes ends at the first one once the next one records it, and that one hears of it.
bool Checks::may_still_record(const SimMachine& machine, const CameraSpec& camera, const std::string& next_node) const {
  const SimMachine* const next = machine_of(next_node);
  const bool next_records = next != nullptr && next->rig()->is_written_whole(camera.name) && next->rig()->runs();
  const bool hears = machine.link().is_whole() && (next == nullptr || next->link().is_whole());
  return !next_records || !hears || machine.agent() == nullptr || has({backup, lost_data}) ||
         had({cut, drop_in, drop_out, slow_link, late_requests, stale_watch, stop, stop_agent, stop_rig, leader_change,
              no_quorum, full, newer_assignment, bad_plan},
             5s);
}

// What goes on longer than the hand-over of a camera takes.
void Checks::check_overlaps(const Writers& writers) {
  for (const CameraSpec& camera : cluster_.scenario().cameras) {
    const auto found = writers.find(camera.name);
    const CameraAssignment* const assigned = assignment(camera.name);
    if (found == writers.end() || found->second.size() < 2 || assigned == nullptr) {
      overlap_since_.erase(camera.name);
      continue;
    }
    cluster_.reach("two nodes write");
    const bool stops = camera.on_partition == OnPartition::stop;
    const bool is_excused = std::ranges::any_of(found->second, [&](const auto& writer) {
      if (writer.first->node() == assigned->node) return false;
      return stops ? may_still_run(*writer.first) : may_still_record(*writer.first, camera, assigned->node);
    });
    const Span allowed = stops                                     ? stop_ends
                         : had({backup, lost_data, bad_plan}, 60s) ? restored_hand_over
                                                                   : hand_over_ends;
    const Time since = overlap_since_.try_emplace(camera.name, now()).first->second;
    if (is_excused) overlap_since_.erase(camera.name);
    if (!is_excused && now() - since > allowed)
      return fail("two writers", fmt::format("{} is recorded by {} nodes, for longer than a hand-over takes",
                                             camera.name, found->second.size()));
  }
}

// What the cluster cannot help: etcd is away, or nobody may plan; the camera's node is there, and does not hear or do
// what it is to; or the camera has none, for which check_room() wants a reason.
bool Checks::may_be_nowhere(const CameraSpec& camera, const std::string& node) const {
  const auto gone = std::ranges::count_if(last_gone_, [this](const auto& one) { return one.second == now(); });
  const bool all_are_gone = static_cast<std::size_t>(gone) == cluster_.scenario().capacity.size();
  const bool no_cluster = all_are_gone || has({leader_change, no_quorum, full, bad_plan, newer_assignment}) ||
                          had({less_cameras}, 1s) || cluster_.world().seconds() < first_plan_by;
  const bool stops = camera.on_partition == OnPartition::stop && had({backup, lost_data}, Cluster::ttl);
  const bool is_deaf =
      has_of(node, {stale_watch, slow_link, late_requests, stop_rig, drop_in, drop_out, false_recorder}) ||
      has_of(planner_, {stale_watch, slow_link, late_requests});
  const SimMachine* const machine = machine_of(node);
  const bool cannot = machine != nullptr &&
                      (machine->condition().disk_is_full || machine->condition().cannot_run.contains(camera.name) ||
                       machine->condition().slow.contains(camera.name));
  return no_cluster || stops || is_deaf || cannot;
}

// Anything that may have ended a camera where it was, but for etcd being another one.
bool Checks::may_have_ended(const CameraSpec& camera) const {
  const auto by = written_by_.find(camera.name);
  return by == written_by_.end() || camera.on_partition == OnPartition::stop ||
         had({drain,       wish,     less_capacity, less_cameras,   cannot_run,       disk_full,
              slow_source, unusable, boast,         bad_assignment, newer_assignment, bad_plan,
              leave,       kill,     stop,          twin,           stop_agent,       stop_rig,
              cut,         drop_in,  drop_out,      slow_link,      late_requests,    false_recorder},
             30s);
}

Span Checks::longest_gap(const CameraSpec& camera) const {
  if (has({backup, lost_data})) return 1s;  // what runs goes on
  // A camera that goes from a node to another one of itself loses nothing.
  const bool is_calm = cluster_.active().empty() && now() - cluster_.last_change() > all_is_over;
  const auto written = written_at_.find(camera.name);
  const bool was_somewhere = written != written_at_.end() && now() - written->second < 500ms;
  if (is_calm && was_somewhere && camera.on_partition == OnPartition::keep) return Span{0};
  // More than half of the nodes may have vanished together: then one more lease is waited for.
  const auto gone =
      std::ranges::count_if(last_gone_, [this](const auto& one) { return now() < one.second + 2 * Cluster::ttl; });
  return Cluster::ttl + to_begin + (gone > 1 ? Cluster::ttl : 0s);
}

void Checks::check_coverage(const Writers& writers) {
  for (const CameraSpec& camera : cluster_.rig()) {
    const auto written = writers.find(camera.name);
    if (written != writers.end()) {
      written_by_[camera.name] = written->second.begin()->first->node();
      written_at_[camera.name] = now();
    }
    const CameraAssignment* const assigned = assignment(camera.name);
    const std::string node = assigned == nullptr ? "" : assigned->node;
    const bool is_restored = has({backup, lost_data});
    const bool no_place = assigned != nullptr && node.empty() && !is_restored;
    if (written != writers.end() || no_place || may_be_nowhere(camera, node) ||
        (is_restored && may_have_ended(camera))) {
      uncovered_since_.erase(camera.name);
      continue;
    }
    cluster_.reach("a camera is nowhere");
    Time since = uncovered_since_.try_emplace(camera.name, now()).first->second;
    since = std::max(since, cluster_.last_begin());
    if (now() - since > longest_gap(camera))
      return fail("coverage", fmt::format("{} of {} is recorded nowhere for longer than the lease and {} s",
                                          camera.name, node, to_begin.count()));
  }
}

// Of a cluster in which nothing happens but what the plan has to go round.
void Checks::check_room() {
  const bool is_calm = std::ranges::all_of(cluster_.active(), [](const Fault* fault) {
    constexpr std::array of_places{disk_full, cannot_run, unusable, drain};
    return std::ranges::find(of_places, fault->kind) != of_places.end();
  });
  if (!is_calm || planner_.empty() || now() - cluster_.last_change() < 3s) return no_room_since_.clear();
  const auto cameras = cluster_cameras(cluster_.rig());
  const PlanOracle oracle(cluster_.etcd().keys(), cluster_.keys(), cameras);
  for (const ClusterCamera& camera : cameras) {
    const std::string room = oracle.is_better_off_elsewhere(camera.name) ? oracle.room_for(camera.name) : "";
    if (room.empty()) {
      no_room_since_.erase(camera.name);
      continue;
    }
    const Time since = no_room_since_.try_emplace(camera.name, now()).first->second;
    if (now() - since > room_is_used)
      return fail("room", fmt::format("{} has no node that can record it, though {} has room", camera.name, room));
  }
}

void Checks::note_states() {
  for (const auto& machine : cluster_.machines()) {
    const SimAgent* const agent = machine->agent();
    if (agent == nullptr) continue;
    const NodeView& view = agent->view();
    const auto reach = [&](bool is, const char* state) {
      if (is) cluster_.reach(state);
    };
    reach(view.membership.stage == MembershipState::Stage::name_taken, "a name is taken");
    reach(!view.plan_is_known, "a plan is not known, or older");
    reach(!view.refused.empty(), "an assignment is refused");
    reach(!view.kept.empty(), "a node says that it keeps a camera");
    reach(!view.plan.damage.empty(), "a plan is damaged");
    reach(!view.plan.unused.empty(), "a generation does not count");
    reach(std::ranges::any_of(view.duties, [](const auto& duty) { return duty.second.is_leaving(); }),
          "a camera leaves");
    reach(!machine->rig()->unfit().empty(), "a node names cameras that it cannot record");
    reach(view.planner.empty(), "nobody plans");
  }
}

// Behind a calm.
void Checks::at_end() {
  read_plan_again();
  if (is_moving()) return fail("rest", "cameras move on and on");
  const Writers writing = writers();
  for (const CameraSpec& camera : cluster_.rig()) {
    const CameraAssignment* const assigned = assignment(camera.name);
    if (assigned == nullptr) return fail("end", camera.name + " is not in the plan");
    if (assigned->node.empty()) continue;
    const auto found = writing.find(camera.name);
    const bool is_right =
        found != writing.end() && found->second.size() == 1 && found->second.begin()->first->node() == assigned->node;
    if (!is_right)
      return fail("end", fmt::format("{} of {} is recorded by {} nodes", camera.name, assigned->node,
                                     found == writing.end() ? 0 : found->second.size()));
    const bool pushes = std::ranges::any_of(cluster_.machines(), [&](const auto& machine) {
      return machine->rig() != nullptr && machine->rig()->pushes(camera.name);
    });
    const bool is_held_by_nobody = had({effect_of_nobody}, 1s);
    if (camera.pushes && !pushes && !is_held_by_nobody) return fail("end", camera.name + " is pushed by nobody");
  }
}

}  // namespace campipe::sim
