// The process of a rig that is a node of a cluster, `campipe cluster`: it keeps the node in the cluster, tells the
// supervisor which cameras the node has to run, and plans when the node is elected. It is started by the supervisor,
// and where it dies its successor goes on under the same lease, so that no camera goes elsewhere for that.
#pragma once

namespace campipe {

inline constexpr const char* cluster_role = "cluster";
// The whole life of the process: its exit status.
int run_cluster();

}  // namespace campipe
