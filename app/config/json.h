// Configurations as JSON, on their way between processes of one build.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace campipe {

struct CameraConfig;
struct ClusterConfig;
struct ResolvedOutput;
struct RigConfig;
struct ServerConfig;

nlohmann::json to_json(const CameraConfig& camera);
CameraConfig camera_from_json(const nlohmann::json& json);
nlohmann::json to_json(const ResolvedOutput& output);
ResolvedOutput output_from_json(const nlohmann::json& json);
// The whole, as it was loaded.
nlohmann::json to_json(const RigConfig& rig);
RigConfig rig_from_json(const nlohmann::json& json);
nlohmann::json to_json(const ServerConfig& server);
ServerConfig server_from_json(const nlohmann::json& json);
nlohmann::json to_json(const ClusterConfig& cluster);
ClusterConfig cluster_from_json(const nlohmann::json& json);

}  // namespace campipe
