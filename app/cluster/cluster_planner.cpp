#include "app/cluster/cluster_planner.h"

#include <algorithm>

#include "app/cluster/json_take.h"
#include "app/cluster/node_offers.h"

namespace campipe {
namespace {

void soonest(std::optional<Clock::time_point>& of, Clock::time_point when) {
  if (!of || when < *of) of = when;
}

// How the camera's value changes by its place.
CameraAssignment assigned(const CameraPlace& place, const CameraAssignment* old) {
  CameraAssignment next = old != nullptr ? *old : CameraAssignment();
  const bool moves = next.node != place.node;
  if (moves && !next.node.empty()) next.from = next.node;
  next.node = place.node;
  next.home = place.home;
  // Why it moved is an event; what lasts is why it is not where it should be.
  next.reason = moves && !place.node.empty() ? "" : place.reason;
  return next;
}

}  // namespace

std::string wanted_node(const EtcdMirror& mirror, const ClusterKeys& keys, const std::string& camera) {
  const EtcdKeyValue* found = mirror.find(keys.wanted(camera));
  if (found == nullptr) return {};
  nlohmann::json json = parse_shallow(found->value);
  std::string node;
  return take_schema(json) && take(json, "node", node) ? node : std::string();
}

ClusterPlanner::Decision ClusterPlanner::decide(const EtcdMirror& mirror, const ClusterKeys& keys,
                                                const StoredPlan& stored, std::span<const ClusterCamera> cameras,
                                                Clock::time_point now) {
  Decision decision;
  ClusterView view;
  std::set<std::string> present;
  each_offer(mirror, keys, [&](const std::string& node, const std::optional<NodeOffer>& offer) {
    present.insert(node);
    if (!offer) {
      decision.unreadable.insert(node);
      return;
    }
    const Clock::time_point settled = present_since_.try_emplace(node, now).first->second + settling;
    if (settled > now) soonest(decision.look_again, settled);
    const bool draining = offer->draining || mirror.find(keys.drained(node)) != nullptr;
    view.nodes.push_back(
        {node, offer->capacity, offer->labels, offer->features, draining, offer->unfit, settled <= now});
  });
  std::erase_if(present_since_, [&](const auto& since) { return !present.contains(since.first); });

  std::set<std::string> with_cameras;
  for (const auto& [camera, known] : stored.cameras) {
    if (known.assignment.node.empty()) continue;
    with_cameras.insert(known.assignment.node);
    view.current[camera] = {known.assignment.node, known.assignment.home};
  }
  const VanishedNodes::View away = vanished_.look(present, with_cameras, now);
  if (away.look_again) soonest(decision.look_again, *away.look_again);
  decision.waited_for = view.waited_for = away.waited_for;
  view.waited_for.insert(decision.unreadable.begin(), decision.unreadable.end());

  for (const ClusterCamera& camera : cameras) {
    ClusterCamera& added = view.cameras.emplace_back(camera);
    if (std::string node = wanted_node(mirror, keys, camera.name); !node.empty()) added.wanted_node = std::move(node);
  }
  for (const auto& [camera, place] : assign_cameras(view)) {
    const auto old = stored.cameras.find(camera);
    const CameraAssignment* before = old == stored.cameras.end() ? nullptr : &old->second.assignment;
    decision.wanted.emplace(camera, assigned(place, before));
    const std::string from = before != nullptr ? before->node : "";
    if (from != place.node) decision.moves.push_back({camera, from, place.node, place.reason});
  }
  return decision;
}

}  // namespace campipe
