#include "app/cluster/cluster_requests.h"

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cluster/cluster_access.h"
#include "app/cluster/plan_store.h"
#include "app/config/cluster_config.h"
#include "app/config/exit_status.h"
#include "core/error.h"
#include "core/passwords.h"

namespace campipe {
namespace {

// That are there, and those that the plan or somebody's request names.
std::set<std::string> nodes_of(const EtcdMirror& mirror, const ClusterKeys& keys, bool only_present) {
  std::set<std::string> nodes;
  mirror.each_below(keys.nodes(), [&](std::string_view name, const EtcdKeyValue&) { nodes.emplace(name); });
  if (only_present) return nodes;
  mirror.each_below(keys.drained(""), [&](std::string_view name, const EtcdKeyValue&) { nodes.emplace(name); });
  for (const auto& [camera, stored] : read_plan(mirror, keys).cameras) {
    if (!stored.assignment.node.empty()) nodes.insert(stored.assignment.node);
  }
  return nodes;
}

int run_change(const std::string& config,
               const std::function<ClusterChange(const EtcdMirror& mirror, const std::string& cluster)>& make) {
  auto cluster = open_cluster(config, Needed::section);
  if (!cluster) return usage_error;
  const ClusterChange change = make(read_cluster(*cluster), cluster->config().name);
  if (!change.refusal.empty()) {
    std::cerr << change.refusal << '\n';
    return usage_error;
  }
  const auto written = cluster->client->txn({{}, {change.operation}});
  if (!written) throw Error(etcd_problem("change the cluster", written.error()));
  std::cout << change.done << '\n';
  return 0;
}

}  // namespace

ClusterChange drain_change(const EtcdMirror& mirror, const std::string& cluster, const std::string& node, bool end) {
  const ClusterKeys keys(cluster);
  const auto nodes = nodes_of(mirror, keys, false);
  if (!nodes.contains(node))
    return {"cluster " + cluster + " has no node '" + shown_name(node) + "'; its nodes: " + listed(nodes), true};
  const std::string key = keys.drained(node);
  if (end) return {"", false, EtcdOperation::erase(key), node + " takes cameras again"};
  return {"", false, EtcdOperation::put(key, R"({"schema":1})"),
          node + " is drained: its cameras go to nodes that have room"};
}

ClusterChange move_change(const EtcdMirror& mirror, const std::string& cluster, const std::string& camera,
                          const std::string& node) {
  const ClusterKeys keys(cluster);
  if (!read_plan(mirror, keys).cameras.contains(camera)) {
    return {"cluster " + cluster + " has no camera '" + shown_name(camera) + "'; `campipe cluster status` lists them",
            true};
  }
  const std::string key = keys.wanted(camera);
  if (node.empty()) return {"", false, EtcdOperation::erase(key), camera + " may be on any node"};
  const auto nodes = nodes_of(mirror, keys, true);
  if (!nodes.contains(node)) return {"node '" + node + "' is not there; nodes that are: " + listed(nodes)};
  const nlohmann::json wanted{{"schema", 1}, {"node", node}};
  return {"", false, EtcdOperation::put(key, wanted.dump()), camera + " is wanted on " + node};
}

ClusterChange forget_change(const EtcdMirror& mirror, const std::string& cluster, const std::string& node) {
  const ClusterKeys keys(cluster);
  if (nodes_of(mirror, keys, true).contains(node))
    return {"node '" + shown_name(node) + "' is there: stop it first, it would say again what lies on it"};
  const std::string key = keys.holder(node);
  if (mirror.find(key) == nullptr)
    return {"cluster " + cluster + " knows of no recordings on a node '" + shown_name(node) + "'", true};
  return {"", false, EtcdOperation::erase(key), node + " is no longer named where recordings are listed"};
}

int run_cluster_forget(const std::string& config, const std::string& node) {
  return run_change(config,
                    [&](const auto& mirror, const auto& cluster) { return forget_change(mirror, cluster, node); });
}

int run_cluster_drain(const std::string& config, const std::string& node, bool end) {
  return run_change(config,
                    [&](const auto& mirror, const auto& cluster) { return drain_change(mirror, cluster, node, end); });
}

int run_cluster_move(const std::string& config, const std::string& camera, const std::string& node) {
  return run_change(
      config, [&](const auto& mirror, const auto& cluster) { return move_change(mirror, cluster, camera, node); });
}

}  // namespace campipe
