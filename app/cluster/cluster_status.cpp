#include "app/cluster/cluster_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "app/cluster/cluster_access.h"
#include "app/cluster/election.h"
#include "app/cluster/json_take.h"
#include "app/cluster/node_offer.h"
#include "app/cluster/plan_store.h"
#include "app/cluster/rig_store.h"
#include "core/printable.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr auto etcd_is_full =
    "etcd is full (NOSPACE): the cluster cannot be changed, and a node that leaves cannot come back. Compact and "
    "defragment it, and disarm the alarm";

std::string wanted_node(const EtcdKeyValue* value) {
  if (value == nullptr) return {};
  json of = json::parse(value->value, nullptr, false);
  std::string node;
  return take_schema(of) && take(of, "node", node) ? node : std::string();
}

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

json cluster_status(const EtcdMirror& mirror, const ClusterKeys& keys, std::optional<bool> full) {
  const StoredPlan plan = read_plan(mirror, keys);
  const StoredRig rig = read_rig(mirror, keys);
  const auto planner = elected_planner(mirror, keys);
  json status{{"planner", planner ? planner->node : ""},
              {"rig", {{"revision", rig.revision}, {"problem", rig.problem}}},
              {"etcd", {{"full", full ? json(*full) : json()}}},
              {"nodes", json::object()},
              {"cameras", json::object()}};
  mirror.each_below(keys.nodes(), [&](std::string_view name, const EtcdKeyValue& value) {
    const std::string node(name);
    json& shown = status["nodes"][node] = {{"here", true}, {"cameras", 0}};
    const auto offer = read_offer(node, value.value);
    shown["draining"] = mirror.find(keys.drained(node)) != nullptr;
    shown["usable"] = !offer || !offer->draining;  // else it has the newest rig, and cannot use it
    shown["address"] = offer ? offer->address : "";
    shown["version"] = offer ? offer->version : "newer than this campipe";
    shown["labels"] = offer ? json(offer->labels) : json::object();
    shown["capacity"] = offer ? json(offer->capacity) : json::object();
  });
  for (const auto& [camera, stored] : plan.cameras) {
    const CameraAssignment& assignment = stored.assignment;
    status["cameras"][camera] = {{"node", assignment.node},
                                 {"home", assignment.home},
                                 {"reason", assignment.reason},
                                 {"kept_by", ""},
                                 {"wanted", wanted_node(mirror.find(keys.wanted(camera)))}};
    if (assignment.node.empty()) continue;
    json& node = status["nodes"][assignment.node];
    if (node.is_null()) {
      node = {{"here", false}, {"cameras", 0}, {"draining", false}, {"usable", true}, {"address", ""}, {"version", ""}};
    }
    node["cameras"] = node["cameras"].get<int>() + 1;
  }
  mirror.each_below(keys.all_kept(), [&](std::string_view name, const EtcdKeyValue& value) {
    const std::string node(name.substr(0, name.find('/')));
    const auto known = plan.cameras.find(std::string(name.substr(std::min(name.size(), node.size() + 1))));
    if (known == plan.cameras.end()) return;
    json of = json::parse(value.value, nullptr, false);
    std::string fence;
    if (take_schema(of) && take(of, "fence", fence) && fence == text_of(known->second.fence))
      status["cameras"][known->first]["kept_by"] = node;
  });
  return status;
}

std::string cluster_tables(const json& status) {
  std::vector<std::vector<std::string>> nodes{{"NODE", "STATE", "CAMERAS", "ADDRESS", "VERSION"}};
  for (const auto& [name, node] : status["nodes"].items()) {
    std::string state = !node["here"].get<bool>() ? "away" : node["draining"].get<bool>() ? "draining" : "here";
    if (status["planner"] == name) state += ", plans";
    if (!node["usable"].get<bool>()) state += ", cannot use the rig: see its log";
    nodes.push_back({printable(name), state, std::to_string(node["cameras"].get<int>()),
                     printable(node["address"].get<std::string>()), printable(node["version"].get<std::string>())});
  }
  std::vector<std::vector<std::string>> cameras{{"CAMERA", "NODE", "NOTE"}};
  for (const auto& [name, camera] : status["cameras"].items()) {
    const std::string node = camera["node"];
    const std::string home = camera["home"];
    const std::string wanted = camera["wanted"];
    const std::string kept_by = camera["kept_by"];
    std::string note = camera["reason"];
    if (!kept_by.empty()) note = node + " has not begun to record it: it goes on on " + kept_by;
    if (note.empty() && !wanted.empty() && wanted != node) note = "is wanted on " + wanted;
    if (note.empty() && !home.empty()) note = "its home is " + home;
    cameras.push_back({printable(name), node.empty() ? "none" : printable(node), printable(note)});
  }
  std::string text = table(nodes) + '\n' + table(cameras);
  const std::string problem = status["rig"]["problem"];
  if (!problem.empty()) text += '\n' + printable(problem) + '\n';
  if (status["etcd"]["full"] == true) text += '\n' + std::string(etcd_is_full) + '\n';
  if (status["rig"]["revision"] == 0) text += "\nthere is no rig yet: the first node that starts brings its own\n";
  return text;
}

int run_cluster_status(const std::string& config, bool as_json) {
  auto cluster = open_cluster(config);
  if (!cluster) return cluster_usage_error;
  const EtcdMirror mirror = read_cluster(*cluster);
  const EtcdResult<bool> full = cluster->client->no_space();  // what users of etcd may not be allowed to ask
  json status = cluster_status(mirror, cluster->keys, full ? std::optional(*full) : std::nullopt);
  status["cluster"] = cluster->config().name;
  if (as_json) {
    std::cout << status.dump(2) << '\n';
  } else {
    std::cout << cluster_tables(status);
  }
  return 0;
}

}  // namespace campipe
