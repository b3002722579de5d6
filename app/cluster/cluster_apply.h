// `campipe cluster apply`: the rig of a file becomes the cluster's.
#pragma once

#include <string>
#include <vector>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"

namespace campipe {

struct LoadedConfig;

// What is between two rigs' texts: "+ dock", "- gate", "~ yard", "~ defaults". Of texts that are no rigs: nothing.
std::vector<std::string> rig_difference(const std::string& before, const std::string& after);

// By the nodes' offers, which cameras of the rig would have no node, and why: "yard: no node has room for it: …".
// Without nodes: nothing. What cameras take is predicted by this machine's costs, on the devices of the node that
// plans.
std::vector<std::string> without_room(const LoadedConfig& loaded, const EtcdMirror& mirror, const ClusterKeys& keys);

struct ApplyOptions {
  bool dry_run = false;
  bool restored = false;  // etcd was restored from a backup, or lost its data: what is there counts again
};
// Returns the exit status.
int run_cluster_apply(const std::string& file, const ApplyOptions& options);

}  // namespace campipe
