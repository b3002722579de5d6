#include "tests/sim/cluster/plan_oracle.h"

#include <algorithm>

#include "app/cluster/node_offers.h"
#include "app/cluster/plan_store.h"

namespace campipe::sim {
namespace {

constexpr double slack = 1e-6;
// docs/cluster.md: above these loads cameras go home, or anywhere.
constexpr double leaves_for_home = 0.5;
constexpr double leaves = 0.85;

double amount_of(const Amounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace

PlanOracle::PlanOracle(const EtcdMirror& mirror, const ClusterKeys& keys, const std::vector<ClusterCamera>& cameras) {
  each_offer(mirror, keys, [&](const std::string& name, const std::optional<NodeOffer>& offer) {
    SeenNode& node = nodes_[name];
    node.is_readable = offer.has_value();
    if (!offer) return;
    node.capacity = offer->capacity;
    node.is_drained = offer->draining || mirror.find(keys.drained(name)) != nullptr;
    node.unfit = offer->unfit;
  });
  for (const ClusterCamera& camera : cameras) {
    cameras_[camera.name] = &camera;
    if (std::string wish = wanted_node(mirror, keys, camera.name); !wish.empty()) wishes_[camera.name] = wish;
  }
  for (const auto& [camera, stored] : read_plan(mirror, keys).cameras) {
    if (stored.assignment.node.empty()) continue;
    places_[camera] = stored.assignment.node;
    homes_[camera] = stored.assignment.home;
  }
  for (auto& [name, node] : nodes_) {
    for (const auto& [camera, at] : places_) {
      if (at != name || !cameras_.contains(camera)) continue;
      for (const auto& [resource, amount] : need_on(*cameras_.at(camera), node)) node.used[resource] += amount;
    }
  }
}

bool PlanOracle::has_way(const ClusterCamera& camera, const SeenNode& node) const {
  return camera.ways.empty() || std::ranges::any_of(camera.ways, [&](const Amounts& way) {
           return std::ranges::all_of(
               way, [&](const auto& need) { return need.second <= amount_of(node.capacity, need.first) + slack; });
         });
}

Amounts PlanOracle::need_on(const ClusterCamera& camera, const SeenNode& node) const {
  for (const Amounts& way : camera.ways) {
    const bool fits =
        std::ranges::all_of(way, [&](const auto& need) { return need.second <= amount_of(node.capacity, need.first); });
    if (fits) return way;
  }
  return camera.ways.empty() ? Amounts() : camera.ways.front();
}

double PlanOracle::load(const std::string& name, const std::map<std::string, std::string>& places) const {
  const SeenNode& node = nodes_.at(name);
  Amounts used;
  for (const auto& [camera, at] : places) {
    if (at != name || !cameras_.contains(camera)) continue;
    for (const auto& [resource, amount] : need_on(*cameras_.at(camera), node)) used[resource] += amount;
  }
  double most = 0;
  for (const auto& [resource, amount] : used) {
    const double capacity = amount_of(node.capacity, resource);
    if (amount > 0) most = std::max(most, capacity > 0 ? amount / capacity : 1e9);
  }
  return most;
}

bool PlanOracle::is_overloaded(const std::string& node, const std::map<std::string, std::string>& places) const {
  return load(node, places) > 1 + slack;
}

std::string PlanOracle::wrong_with(const ClusterPlanner::Move& move,
                                   const std::map<std::string, std::string>& after) const {
  const auto camera = cameras_.find(move.camera);
  if (camera == cameras_.end()) return {};  // it is not in the rig any more
  if (!move.to.empty()) {
    const auto to = nodes_.find(move.to);
    if (to == nodes_.end() || !to->second.is_readable) return "goes to a node that is not there";
    if (to->second.is_drained) return "goes to a node that is drained";
    if (to->second.unfit.contains(move.camera)) return "goes to a node that cannot run or record it";
    if (is_overloaded(move.to, after)) return "goes to a node that has no room";
  }
  if (move.from.empty()) return {};
  std::string wrong = wrong_alone(move, after);
  // Cameras of a unit move together, where one of them has to.
  if (wrong.empty() || camera->second->unit.empty()) return wrong;
  std::map<std::string, std::string> together = places_;
  for (const auto& [name, other] : cameras_) {
    if (other->unit == camera->second->unit) together[name] = move.from;
  }
  if (is_overloaded(move.from, together)) return {};  // the unit has grown
  for (const auto& [name, other] : cameras_) {
    const auto place = places_.find(name);
    if (other->unit != camera->second->unit || place == places_.end()) continue;
    if (place->second != move.from || wrong_alone({name, move.from, move.to, {}}, after).empty()) return {};
  }
  return wrong;
}

std::string PlanOracle::wrong_alone(const ClusterPlanner::Move& move,
                                    const std::map<std::string, std::string>& after) const {
  const ClusterCamera& camera = *cameras_.at(move.camera);
  const auto from = nodes_.find(move.from);
  if (from == nodes_.end()) return {};
  if (!from->second.is_readable) return "leaves a node whose offer cannot be read";
  if (from->second.is_drained || from->second.unfit.contains(move.camera)) return {};
  if (is_overloaded(move.from, places_) || !has_way(camera, from->second)) return {};
  const auto wish = wishes_.find(move.camera);
  if (wish != wishes_.end() && wish->second == move.to) return {};
  // What came there, before it was decided whether cameras leave, counts.
  std::map<std::string, std::string> most = places_;
  for (const auto& [name, node] : after) {
    if (node == move.from) most[name] = node;
  }
  const double busy = load(move.from, most);
  const auto home = homes_.find(move.camera);
  if (home != homes_.end() && home->second == move.to && busy >= leaves_for_home - slack) return {};
  if (busy >= leaves - slack) return {};
  return "leaves a node that is there, has room for it, and is not busy";
}

std::string PlanOracle::room_for(const std::string& camera) const {
  const auto found = cameras_.find(camera);
  if (found == cameras_.end() || !found->second->unit.empty()) return {};
  const auto at = places_.find(camera);
  for (const auto& [name, node] : nodes_) {
    if (at != places_.end() && at->second == name) continue;
    if (!node.is_readable || node.is_drained || node.unfit.contains(camera)) continue;
    if (!has_way(*found->second, node)) continue;
    const Amounts need = need_on(*found->second, node);
    const bool fits = std::ranges::all_of(need, [&](const auto& each) {
      return amount_of(node.used, each.first) + each.second <= amount_of(node.capacity, each.first) - slack;
    });
    if (fits) return name;
  }
  return {};
}

bool PlanOracle::is_better_off_elsewhere(const std::string& camera) const {
  const auto at = places_.find(camera);
  if (at == places_.end()) return true;
  const auto node = nodes_.find(at->second);
  if (node == nodes_.end()) return true;
  return node->second.is_readable && (node->second.is_drained || node->second.unfit.contains(camera));
}

}  // namespace campipe::sim
