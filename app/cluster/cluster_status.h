// `campipe cluster status`: nodes, and which node each camera is assigned to. The API and the page show the same.
#pragma once

#include <string>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/plan_store.h"
#include "app/cluster/rig_store.h"
#include "app/control/cluster_state.h"

namespace campipe {

// What the keys say: all but the cluster's name, who looks, and how etcd is. `plan` and `rig`: of the same mirror.
ClusterState cluster_state(const EtcdMirror& mirror, const ClusterKeys& keys, const StoredPlan& plan,
                           const StoredRig& rig);
// For people.
std::string cluster_tables(const ClusterState& state);

// What each node that is there has for links, and what frames between each two of them would go by. For people.
std::string link_tables(const EtcdMirror& mirror, const ClusterKeys& keys);

struct StatusOptions {
  bool json = false;
  bool links = false;  // print link_tables() instead
};

// Returns the exit status.
int run_cluster_status(const std::string& config, const StatusOptions& options);

}  // namespace campipe
