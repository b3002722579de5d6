// `campipe cluster status`: nodes, and which node each camera is assigned to.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"

namespace campipe {

// As --json prints it.
nlohmann::json cluster_status(const EtcdMirror& mirror, const ClusterKeys& keys);
// The same as tables.
std::string cluster_tables(const nlohmann::json& status);

// Returns the exit status.
int run_cluster_status(const std::string& config, bool json);

}  // namespace campipe
