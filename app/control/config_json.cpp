#include "app/control/config_json.h"

#include "app/config/camera_config.h"
#include "app/config/cluster_config.h"
#include "app/config/json.h"
#include "app/config/server_config.h"

namespace campipe {

using nlohmann::json;

json JsonOf<CameraConfig>::write(const CameraConfig& camera) { return to_json(camera); }
CameraConfig JsonOf<CameraConfig>::read(const json& from) { return camera_from_json(from); }

json JsonOf<ResolvedOutput>::write(const ResolvedOutput& output) { return to_json(output); }
ResolvedOutput JsonOf<ResolvedOutput>::read(const json& from) { return output_from_json(from); }

json JsonOf<ClusterConfig>::write(const ClusterConfig& cluster) { return to_json(cluster); }
ClusterConfig JsonOf<ClusterConfig>::read(const json& from) { return cluster_from_json(from); }

json JsonOf<ServerConfig>::write(const ServerConfig& server) { return to_json(server); }
ServerConfig JsonOf<ServerConfig>::read(const json& from) { return server_from_json(from); }

}  // namespace campipe
