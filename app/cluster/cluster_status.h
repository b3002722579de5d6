// `campipe cluster status`: nodes, and which node each camera is assigned to. The API and the page show the same.
#pragma once

#include <set>
#include <string>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/plan_store.h"
#include "app/cluster/rig_store.h"
#include "app/control/cluster_state.h"

namespace campipe {

// What the keys say: all but the cluster's name, and how etcd is. `plan` and `rig`: of the same mirror. `by`: the node
// that looks; `refused`: cameras whose assignments it does not obey (DutyKeeper). Keys of nodes that have no lease are
// left over from nobody knows what, and do not count.
ClusterState cluster_state(const EtcdMirror& mirror, const ClusterKeys& keys, const StoredPlan& plan,
                           const StoredRig& rig, const std::string& by, const std::set<std::string>& refused);
// For people.
std::string cluster_tables(const ClusterState& state);

// What nodes and people have written to etcd need not be UTF-8; this is.
std::string cluster_json(const ClusterState& state);

// What each node that is there has for links, and what frames between each two of them would go by. For people.
std::string link_tables(const EtcdMirror& mirror, const ClusterKeys& keys);

struct StatusOptions {
  bool json = false;
  bool links = false;  // print link_tables() instead
};

// Returns the exit status.
int run_cluster_status(const std::string& config, const StatusOptions& options);

}  // namespace campipe
