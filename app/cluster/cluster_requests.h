// `campipe cluster drain`, `forget` and `move`, and the API's calls for the same: what somebody asks of the plan.
#pragma once

#include <string>

#include "app/cluster/etcd_mirror.h"
#include "app/cluster/etcd_values.h"

namespace campipe {

// What is to be written into etcd; or, where `refusal` is not empty, why nothing is.
struct ClusterChange {
  std::string refusal;
  bool is_unknown = false;  // refused since there is no such node or camera at all
  EtcdOperation operation{};
  std::string done{};  // what is so once it is written, for people
};

// By the keys of `cluster`, as the mirror has them.
ClusterChange drain_change(const EtcdMirror& mirror, const std::string& cluster, const std::string& node, bool end);
// No node: it does not matter any more.
ClusterChange move_change(const EtcdMirror& mirror, const std::string& cluster, const std::string& camera,
                          const std::string& node);
// Removes what says that recordings may lie on a node. Refused for a node that is there.
ClusterChange forget_change(const EtcdMirror& mirror, const std::string& cluster, const std::string& node);

// The commands. Each returns the exit status.
int run_cluster_drain(const std::string& config, const std::string& node, bool end);
int run_cluster_forget(const std::string& config, const std::string& node);
int run_cluster_move(const std::string& config, const std::string& camera, const std::string& node);

}  // namespace campipe
