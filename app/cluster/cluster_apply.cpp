#include "app/cluster/cluster_apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>

#include "app/cluster/cluster_access.h"
#include "app/cluster/cluster_planner.h"
#include "app/cluster/election.h"
#include "app/cluster/node_offers.h"
#include "app/cluster/plan_store.h"
#include "app/cluster/rig_cameras.h"
#include "app/cluster/rig_store.h"
#include "app/config/config.h"
#include "app/config/exit_status.h"
#include "app/config/yaml.h"
#include "app/placement/machine_costs.h"
#include "app/placement/mosaic_units.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/printable.h"

namespace campipe {
namespace {

// The same for what means the same, wherever it stands.
std::string canonical(const YamlNode& node) {
  std::string text = std::to_string(static_cast<int>(node.kind)) + node.text + '\0';
  std::vector<std::string> children;
  for (const YamlNode& child : node.children) children.push_back(child.key + '\0' + canonical(child) + '\1');
  if (node.kind == YamlNode::Kind::map) std::ranges::sort(children);
  for (const std::string& child : children) text += child;
  return text + '\2';
}

struct RigTexts {
  std::map<std::string, std::string> cameras;
  std::string defaults;
};

RigTexts texts_of(const std::string& rig) {
  RigTexts texts;
  const YamlResult parsed = parse_yaml(rig);
  const auto* root = std::get_if<YamlNode>(&parsed);
  if (root == nullptr) return texts;
  for (const YamlNode& part : root->children) {
    if (part.key == "defaults") texts.defaults = canonical(part);
    if (part.key != "cameras") continue;
    for (const YamlNode& camera : part.children) texts.cameras[camera.key] = canonical(camera);
  }
  return texts;
}

}  // namespace

std::vector<std::string> rig_difference(const std::string& before, const std::string& after) {
  const RigTexts old = texts_of(before);
  const RigTexts next = texts_of(after);
  std::vector<std::string> lines;
  for (const auto& [name, text] : next.cameras) {
    const auto known = old.cameras.find(name);
    if (known == old.cameras.end()) lines.push_back("+ " + name);
    if (known != old.cameras.end() && known->second != text) lines.push_back("~ " + name);
  }
  for (const auto& [name, text] : old.cameras) {
    if (!next.cameras.contains(name)) lines.push_back("- " + name);
  }
  if (old.defaults != next.defaults) lines.emplace_back("~ defaults");
  return lines;
}

namespace {

// Of a version that writes them otherwise: none.
Devices devices_of(const NodeOffer& offer) {
  try {
    return devices_from_json(offer.devices);
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> without_room(const LoadedConfig& loaded, const EtcdMirror& mirror, const ClusterKeys& keys) {
  const auto planner = elected_planner(mirror, keys);
  std::optional<NodeOffer> plans;  // else the first one
  each_offer(mirror, keys, [&](const std::string& node, std::optional<NodeOffer> offer) {
    if (offer && (!plans || (planner && planner->node == node))) plans = std::move(offer);
  });
  if (!plans) return {};
  Machine machine = this_machine();
  machine.devices = devices_of(*plans);
  const MachineCosts costs = load_machine_costs(machine.devices);
  const std::vector<ClusterCamera> cameras = rig_cameras(loaded, machine, costs, mosaic_units(loaded.rig.cameras));
  ClusterPlanner asked(std::chrono::seconds(5));
  const auto decision = asked.decide(mirror, keys, read_plan(mirror, keys), cameras, Clock::now());
  std::vector<std::string> lines;
  for (const auto& [camera, assignment] : decision.wanted) {
    if (assignment.node.empty()) lines.push_back(camera + ": " + assignment.reason);
  }
  return lines;
}

namespace {

// False: it is refused.
bool has_room(ClusterAccess& cluster) {
  const auto lines = without_room(*cluster.loaded, read_cluster(cluster), cluster.keys);
  for (const std::string& line : lines) std::cerr << "would have no node: " << printable(line) << '\n';
  if (lines.empty() || cluster.loaded->rig.admission != Admission::refuse) return true;
  std::cerr << "not applied: admission: refuse\n";
  return false;
}

int store(ClusterAccess& cluster, const StoredRig& stored, const std::string& text) {
  const RigWriteResult written = write_rig(*cluster.client, cluster.keys, stored, text);
  switch (written.outcome) {
    case RigWritten::done:
      std::cout << "applied\n";
      return 0;
    case RigWritten::outdated:
      std::cerr << "not applied: " << written.message << "; run it again to see the difference to that\n";
      return cluster_failed;
    case RigWritten::unknown:
      std::cerr << "it is not known whether it is applied (" << written.message << "); run it again to see\n";
      return cluster_failed;
    case RigWritten::failed:
      std::cerr << "not applied: " << written.message << '\n';
      return cluster_failed;
  }
  return cluster_failed;
}

// After a backup was restored, or the data were lost: from now on nodes obey what is there.
int let_it_count(ClusterAccess& cluster) {
  const StoredPlan plan = read_plan(read_cluster(cluster), cluster.keys);
  const auto now = static_cast<std::uint64_t>(utc_now_ns() / 1'000'000'000);
  const PlanWriteResult written = raise_epoch(*cluster.client, cluster.keys, plan, now);
  if (written.outcome == PlanWritten::done) {
    std::cout << "what etcd has counts again\n";
    return 0;
  }
  std::cerr << "the nodes go on as they are: "
            << (written.message.empty() ? "the plan has just been changed" : written.message) << "; run it again\n";
  return cluster_failed;
}

}  // namespace

int run_cluster_apply(const std::string& file, const ApplyOptions& options) {
  auto cluster = open_cluster(file, Needed::whole);
  if (!cluster) return usage_error;
  const std::string text = text_of_file(file, cluster->loaded->digest);
  const EtcdResult<StoredRig> stored = read_rig(*cluster->client, cluster->keys);
  if (!stored) throw Error(etcd_problem("read the cluster's rig", stored.error()));
  const bool is_same = stored->generation != 0 && stored->problem.empty() && stored->text == text;
  if (is_same) {
    std::cout << "the cluster has this rig already\n";
  } else {
    if (!stored->problem.empty()) std::cerr << "what is there cannot be compared: " << stored->problem << '\n';
    const auto difference = rig_difference(stored->text, text);
    for (const std::string& line : difference) std::cout << printable(line) << '\n';
    if (difference.empty()) std::cout << "no camera changes\n";
    if (!has_room(*cluster)) return cluster_failed;
  }
  if (options.dry_run) return 0;
  const int status = is_same ? 0 : store(*cluster, *stored, text);
  return status == 0 && options.restored ? let_it_count(*cluster) : status;
}

}  // namespace campipe
