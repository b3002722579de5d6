// Whether the publisher of a rig serves somebody.
#pragma once

#include <optional>

#include "app/config/cluster_config.h"
#include "app/config/rig_settings.h"
#include "app/config/server_config.h"

namespace campipe {

// Viewers, or the other nodes of a cluster.
inline bool serves(const ServerConfig& server, const std::optional<ClusterConfig>& cluster) {
  return serves(server) || cluster;
}
inline bool serves(const RigSettings& rig) { return serves(rig.server, rig.cluster); }

}  // namespace campipe
