#include "app/cluster/cluster_requests.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cluster/cluster_access.h"
#include "app/cluster/plan_store.h"
#include "core/error.h"

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

int change(ClusterAccess& cluster, const EtcdOperation& operation, const std::string& done) {
  const auto written = cluster.client->txn({{}, {operation}});
  if (!written) throw Error(etcd_problem("change the cluster", written.error()));
  std::cout << done << '\n';
  return 0;
}

}  // namespace

int run_cluster_drain(const std::string& config, const std::string& node, bool end) {
  auto cluster = open_cluster(config);
  if (!cluster) return cluster_usage_error;
  const auto nodes = nodes_of(read_cluster(*cluster), cluster->keys, false);
  if (!nodes.contains(node)) {
    std::cerr << "cluster " << cluster->config().name << " has no node '" << node << "'; its nodes: " << listed(nodes)
              << '\n';
    return cluster_usage_error;
  }
  const std::string key = cluster->keys.drained(node);
  if (end) return change(*cluster, EtcdOperation::erase(key), node + " takes cameras again");
  return change(*cluster, EtcdOperation::put(key, R"({"schema":1})"),
                node + " is drained: its cameras go to nodes that have room");
}

int run_cluster_move(const std::string& config, const std::string& camera, const std::string& node) {
  auto cluster = open_cluster(config);
  if (!cluster) return cluster_usage_error;
  const EtcdMirror mirror = read_cluster(*cluster);
  const StoredPlan plan = read_plan(mirror, cluster->keys);
  if (!plan.cameras.contains(camera)) {
    std::cerr << "cluster " << cluster->config().name << " has no camera '" << camera
              << "'; `campipe cluster status` lists them\n";
    return cluster_usage_error;
  }
  const std::string key = cluster->keys.wanted(camera);
  if (node.empty()) return change(*cluster, EtcdOperation::erase(key), camera + " may be on any node");
  const auto nodes = nodes_of(mirror, cluster->keys, true);
  if (!nodes.contains(node)) {
    std::cerr << "node '" << node << "' is not there; nodes that are: " << listed(nodes) << '\n';
    return cluster_usage_error;
  }
  const nlohmann::json wanted{{"schema", 1}, {"node", node}};
  return change(*cluster, EtcdOperation::put(key, wanted.dump()), camera + " is wanted on " + node);
}

}  // namespace campipe
