#include "app/cluster/camera_units.h"

#include <algorithm>
#include <utility>

namespace campipe {
namespace {

// By the unit's name, members by their own.
using Units = std::map<std::string, std::map<std::string, const ClusterCamera*>>;

Units units_of(const ClusterView& view) {
  Units units;
  for (const ClusterCamera& camera : view.cameras) {
    if (!camera.unit.empty()) units[camera.unit][camera.name] = &camera;
  }
  return units;
}

// A member with fewer ways has its last one in all further ones.
void add_ways(std::vector<Amounts>& sum, const std::vector<Amounts>& more) {
  if (more.empty()) return;
  if (sum.empty()) sum.emplace_back();
  while (sum.size() < more.size()) sum.push_back(Amounts(sum.back()));
  for (std::size_t way = 0; way < sum.size(); ++way) {
    for (const auto& [resource, amount] : more[std::min(way, more.size() - 1)]) sum[way][resource] += amount;
  }
}

ClusterCamera merged(const std::map<std::string, const ClusterCamera*>& members) {
  ClusterCamera unit{members.begin()->first, members.begin()->second->priority, {}};
  for (const auto& [name, member] : members) {
    unit.priority = std::max(unit.priority, member->priority);
    add_ways(unit.ways, member->ways);
    unit.labels.insert(member->labels.begin(), member->labels.end());
    unit.features.insert(member->features.begin(), member->features.end());
    if (unit.wanted_node.empty()) unit.wanted_node = member->wanted_node;
  }
  return unit;
}

// Where most of them are, and are at home. The node is empty where none of them is anywhere.
CurrentPlace place_of(const std::map<std::string, const ClusterCamera*>& members,
                      const std::map<std::string, CurrentPlace>& current) {
  std::map<std::string, int> on;
  for (const auto& [name, member] : members) {
    if (const auto found = current.find(name); found != current.end()) ++on[found->second.node];
  }
  if (on.empty()) return {};
  CurrentPlace place{std::ranges::max_element(on, {}, [](const auto& of) { return of.second; })->first};
  for (const auto& [name, member] : members) {
    const auto found = current.find(name);
    if (found == current.end() || found->second.node != place.node || found->second.home.empty()) continue;
    place.home = found->second.home;
    break;
  }
  return place;
}

}  // namespace

ClusterView merge_units(const ClusterView& view) {
  const Units units = units_of(view);
  if (units.empty()) return view;
  ClusterView result = view;
  std::erase_if(result.cameras, [](const ClusterCamera& camera) { return !camera.unit.empty(); });
  for (const auto& [name, members] : units) {
    const std::string& as = result.cameras.emplace_back(merged(members)).name;
    const CurrentPlace place = place_of(members, view.current);
    for (const auto& [member, of] : members) result.current.erase(member);
    for (ClusterNode& node : result.nodes) {
      const bool unfit = std::ranges::any_of(members, [&](const auto& of) { return node.unfit.contains(of.first); });
      if (unfit) node.unfit.insert(as);
    }
    if (!place.node.empty()) result.current[as] = place;
  }
  return result;
}

std::map<std::string, CameraPlace> expand_units(const ClusterView& view,
                                                const std::map<std::string, CameraPlace>& merged) {
  std::map<std::string, CameraPlace> places = merged;
  for (const auto& [name, members] : units_of(view)) {
    const CameraPlace place = merged.at(members.begin()->first);
    for (const auto& [member, of] : members) places[member] = place;
  }
  return places;
}

}  // namespace campipe
