// `campipe cluster status`: nodes, and which node each camera is assigned to.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"

namespace campipe {

// As --json prints it. `full`: whether etcd has raised NOSPACE, where it says so.
nlohmann::json cluster_status(const EtcdMirror& mirror, const ClusterKeys& keys, std::optional<bool> full);
// The same as tables.
std::string cluster_tables(const nlohmann::json& status);

// Returns the exit status.
int run_cluster_status(const std::string& config, bool json);

}  // namespace campipe
