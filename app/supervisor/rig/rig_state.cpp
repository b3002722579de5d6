#include "app/supervisor/rig/rig_state.h"

#include "app/config/rig_config.h"

namespace campipe {

const RigSettings& RigState::settings() const { return *config; }

std::filesystem::path RigState::cluster_folder() const {
  if (!config->cluster) return {};
  return options.state / "clusters" / config->cluster->name / node_name(*config->cluster);
}

}  // namespace campipe
