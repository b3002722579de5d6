#include "app/cluster/cluster_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "app/cluster/cluster_access.h"
#include "app/cluster/cluster_planner.h"
#include "app/cluster/election.h"
#include "app/cluster/json_take.h"
#include "app/cluster/node_offers.h"
#include "app/config/cluster_config.h"
#include "app/config/cluster_name.h"
#include "app/config/exit_status.h"
#include "app/control/json_fields.h"
#include "app/placement/link_offer.h"
#include "core/printable.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr auto etcd_is_full =
    "etcd is full (NOSPACE): the cluster cannot be changed, and a node that leaves cannot come back. Compact and "
    "defragment it, and disarm the alarm";

// Columns as wide as what is in them.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("{:<{}}  ", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace

ClusterState cluster_state(const EtcdMirror& mirror, const ClusterKeys& keys, const StoredPlan& plan,
                           const StoredRig& rig, const std::string& by, const std::set<std::string>& refused) {
  ClusterState state;
  state.node = by;
  const auto planner = elected_planner(mirror, keys);
  if (planner) state.planner = planner->node;
  state.rig = {rig.revision, rig.problem};
  each_offer(mirror, keys, [&](const std::string& node, const std::optional<NodeOffer>& offer) {
    ClusterState::Node& shown = state.nodes[node];
    shown.here = true;
    shown.draining = mirror.find(keys.drained(node)) != nullptr;
    shown.version = offer ? offer->version : "unreadable: newer than this campipe, or damaged";
    if (!offer) return;
    shown.usable = !offer->draining;
    shown.address = offer->address;
    shown.labels = offer->labels;
    shown.capacity = offer->capacity;
  });
  for (const auto& [camera, stored] : plan.cameras) {
    const CameraAssignment& assignment = stored.assignment;
    state.cameras[camera] = {assignment.node, assignment.home, assignment.reason, wanted_node(mirror, keys, camera)};
    if (!assignment.node.empty()) ++state.nodes[assignment.node].cameras;
  }
  mirror.each_below(keys.holders(), [&](std::string_view name, const EtcdKeyValue&) {
    if (is_cluster_name(name)) state.nodes.try_emplace(std::string(name));
  });
  const std::string folder = keys.generation(plan.generation);
  for (const std::set<std::string>* unreadable : {&plan.unreadable, &plan.damaged}) {
    for (const std::string& key : *unreadable) {
      if (key.starts_with(folder))
        state.cameras[key.substr(folder.size())].reason =
            "its assignment in etcd is unreadable: of a newer campipe, or damaged";
    }
  }
  for (const std::string& camera : refused) {
    if (const auto shown = state.cameras.find(camera); shown != state.cameras.end())
      shown->second.reason = fmt::format(
          "node {} has seen a newer assignment than the one in etcd, and does not obey that; `campipe cluster apply "
          "--restored FILE` makes it count",
          by);
  }
  mirror.each_below(keys.all_kept(), [&](std::string_view name, const EtcdKeyValue& value) {
    if (value.lease == 0) return;
    const std::string node(name.substr(0, name.find('/')));
    const auto known = plan.cameras.find(std::string(name.substr(std::min(name.size(), node.size() + 1))));
    if (known == plan.cameras.end()) return;
    json of = parse_shallow(value.value);
    std::string fence;
    if (take_schema(of) && take(of, "fence", fence) && fence == text_of(known->second.fence))
      state.cameras[known->first].kept_by = node;
  });
  return state;
}

std::string cluster_tables(const ClusterState& state) {
  std::vector<std::vector<std::string>> nodes{{"NODE", "STATE", "CAMERAS", "ADDRESS", "VERSION"}};
  for (const auto& [name, node] : state.nodes) {
    std::string shown = !node.here ? "away" : node.draining ? "draining" : "here";
    if (!node.here && node.cameras == 0) shown += ", with recordings";
    if (state.planner == name) shown += ", plans";
    if (!node.usable) shown += ", cannot use the rig: see its log";
    nodes.push_back(
        {printable(name), shown, std::to_string(node.cameras), printable(node.address), printable(node.version)});
  }
  std::vector<std::vector<std::string>> cameras{{"CAMERA", "NODE", "NOTE"}};
  for (const auto& [name, camera] : state.cameras) {
    const std::string node = camera.node.empty() ? "none" : printable(camera.node);
    cameras.push_back({printable(name), node, printable(note_of(camera))});
  }
  std::string text = table(nodes) + '\n' + table(cameras);
  if (!state.rig.problem.empty()) text += '\n' + printable(state.rig.problem) + '\n';
  if (state.etcd.full == true) text += '\n' + std::string(etcd_is_full) + '\n';
  if (state.etcd.problem) text += '\n' + printable(*state.etcd.problem) + '\n';
  if (state.rig.revision == 0) text += "\nthere is no rig yet: the first node that starts brings its own\n";
  if (state.planner.empty() && std::ranges::any_of(state.nodes, [](const auto& node) { return node.second.here; }))
    text +=
        "\nnobody plans: no camera gets a node, or another one. Nodes that are drained, or cannot use the rig, do not; "
        "of the others the log says why\n";
  // What the nodes have seen before etcd does not know.
  if (!state.planner.empty() && state.cameras.empty())
    text += "\nno camera has a node yet. If that stays so, the log of " + printable(state.planner) +
            " says why; where etcd was restored, or has lost its data, `campipe cluster apply --restored FILE` "
            "makes the nodes follow it again\n";
  return text;
}

std::string cluster_json(const ClusterState& state) {
  return write_json(state).dump(2, ' ', false, json::error_handler_t::replace);
}

std::string link_tables(const EtcdMirror& mirror, const ClusterKeys& keys) {
  std::map<std::string, std::optional<LinkOffer>> offers;
  each_offer(mirror, keys, [&](const std::string& node, const std::optional<NodeOffer>& offer) {
    const json links = offer && offer->devices.is_object() ? offer->devices.value("links", json()) : json();
    offers[node] = link_offer_from_json(links);
  });
  std::vector<std::vector<std::string>> nodes{{"NODE", "LINKS BY", "MAY USE"}};
  std::vector<std::vector<std::string>> pairs{{"FROM", "TO", "BY"}};
  for (const auto& [to, its] : offers) {
    if (!its) {
      nodes.push_back({printable(to), "not known yet", ""});
      continue;
    }
    nodes.push_back({printable(to), printable(describe(its->found)),
                     names_of(its->options.transports) + (its->encrypts ? ", encrypted" : "")});
    for (const auto& [from, others] : offers) {
      if (from != to && others) pairs.push_back({printable(from), printable(to), describe_link(*others, *its)});
    }
  }
  return table(nodes) + '\n' + table(pairs);
}

int run_cluster_status(const std::string& config, const StatusOptions& options) {
  auto cluster = open_cluster(config, Needed::section);
  if (!cluster) return usage_error;
  const EtcdMirror mirror = read_cluster(*cluster);
  if (options.links) {
    std::cout << link_tables(mirror, cluster->keys);
    return 0;
  }
  const EtcdResult<bool> full = cluster->client->no_space();  // what users of etcd may not be allowed to ask
  const StoredPlan plan = read_plan(mirror, cluster->keys);
  ClusterState state =
      cluster_state(mirror, cluster->keys, plan, read_rig(mirror, cluster->keys), node_name(cluster->config()), {});
  state.cluster = cluster->config().name;
  state.etcd = {true, full ? std::optional(*full) : std::nullopt,
                plan.damage.empty() ? std::nullopt : std::optional(plan.damage)};
  if (options.json) {
    std::cout << cluster_json(state) << '\n';
  } else {
    std::cout << cluster_tables(state);
  }
  return 0;
}

}  // namespace campipe
