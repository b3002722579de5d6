// Of what is planned, and who plans.
#include <fmt/format.h>

#include <algorithm>

#include "app/cluster/election.h"
#include "tests/sim/cluster/checks.h"

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;

constexpr Span leases_end_together = 1s;  // and are seen by the planner

}  // namespace

void Checks::on_planned(SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made) {
  if (!made.problem.empty()) cluster_.reach("a plan could not be written");
  if (!made.waited_for.empty()) cluster_.reach("vanished nodes are waited for");
  if (made.moves.empty()) return;
  last_move_ = now();
  check_gone(by, snapshot, made);
  check_vanished(by, snapshot, made);
  const PlanOracle oracle(snapshot.mirror, cluster_.keys(), snapshot.cameras);
  std::map<std::string, std::string> after = oracle.places();
  for (const auto& move : made.moves) after[move.camera] = move.to;
  for (const auto& move : made.moves) {
    if (move.from.empty()) continue;
    cluster_.reach("a camera moves");
    if (move.reason.empty()) cluster_.reach("a camera goes home, or where there is more room");
    if (move.reason.starts_with("it gave way")) cluster_.reach("a camera gives way");
  }
  for (const auto& move : made.moves) {
    if (const std::string wrong = oracle.wrong_with(move, after); !wrong.empty())
      return fail("moves", fmt::format("{} plans that {} goes from '{}' to '{}': it {}", by.node(), move.camera,
                                       move.from, move.to, wrong));
  }
}

// A node is there as long as nothing has happened to it: also when its process `cluster` dies, since the next one goes
// on under the same lease.
void Checks::check_gone(const SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made) {
  for (const auto& move : made.moves) {
    const bool is_there = move.from.empty() || snapshot.mirror.find(cluster_.keys().node(move.from)) != nullptr;
    if (!is_there && !may_be_gone(move.from, 4 * Cluster::ttl))
      return fail("gone", fmt::format("{} gives {} up, to which nothing has happened", by.node(), move.from));
  }
}

// More than half of the nodes that vanish together are waited for, for one more lease.
void Checks::check_vanished(const SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made) {
  std::size_t present = 0;
  std::set<std::string> vanished;
  std::set<std::string> with_cameras;
  for (const auto& [camera, stored] : read_plan(snapshot.mirror, cluster_.keys()).cameras)
    with_cameras.insert(stored.assignment.node);
  const auto is_there = [&](const std::string& node) {
    const EtcdKeyValue* const offer = snapshot.mirror.find(cluster_.keys().node(node));
    return offer != nullptr && offer->lease != 0;
  };
  for (const auto& [node, last] : last_present_) {
    if (is_there(node)) ++present;
    // One without cameras is not known to a planner that has just been elected.
    if (!is_there(node) && with_cameras.contains(node) && now() - last < Cluster::ttl - leases_end_together)
      vanished.insert(node);
  }
  if (2 * vanished.size() <= present + vanished.size()) return;
  for (const auto& move : made.moves) {
    if (vanished.contains(move.from))
      return fail("vanished", fmt::format("{} gives {} up at once, which vanished with {} of {} nodes", by.node(),
                                          move.from, vanished.size(), present + vanished.size()));
  }
}

// Nobody but the elected planner changes the plan, and nobody ever sees half of one.
void Checks::on_txn(const EtcdTxn& txn) {
  const ClusterKeys& keys = cluster_.keys();
  const bool is_plan = std::ranges::any_of(txn.then, [&](const EtcdOperation& operation) {
    return operation.kind != EtcdOperation::Kind::read &&
           (operation.key == keys.plan() || operation.key.starts_with(keys.plans()));
  });
  if (!is_plan || cluster_.operator_acts()) return;
  const auto elected = elected_planner(cluster_.etcd().keys(), keys);
  const bool is_elected = elected && std::ranges::any_of(txn.compares, [&](const EtcdCompare& compare) {
                            return compare.key == elected->candidacy.key &&
                                   compare.of == EtcdCompare::Of::create_revision &&
                                   compare.revision == elected->candidacy.create_revision;
                          });
  if (!is_elected) return fail("planner", "somebody who is not elected changes the plan");
  for (const EtcdOperation& operation : txn.then) {
    if (operation.kind != EtcdOperation::Kind::put || operation.key != keys.plan()) continue;
    EtcdMirror next = cluster_.etcd().keys();
    next.apply({false, {{false, {keys.plan(), operation.value, next.revision() + 1, next.revision() + 1, 1, 0}}}, 0});
    const StoredPlan written = read_plan(next, keys);
    if (written.generation != plan_.generation) cluster_.reach("a plan is a new generation");
    for (const CameraSpec& camera : cluster_.rig()) {
      const std::string key = keys.generation(written.generation) + camera.name;
      const bool is_new = std::ranges::any_of(txn.then, [&](const auto& each) { return each.key == key; });
      const bool was_there = plan_.generation != 0 && plan_.cameras.contains(camera.name);
      if (was_there && !is_new && !next.find(key)) return fail("plan", "a plan without " + camera.name + " counts");
    }
  }
}

}  // namespace campipe::sim
