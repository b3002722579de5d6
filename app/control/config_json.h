// JSON of the configuration's types as they travel in messages (app/control/json_fields.h).
#pragma once

#include <nlohmann/json.hpp>

#include "app/config/config.h"
#include "app/control/json_fields.h"

namespace campipe {

template <>
struct JsonOf<CameraConfig> {
  static nlohmann::json write(const CameraConfig& camera) { return to_json(camera); }
  static CameraConfig read(const nlohmann::json& from) { return camera_from_json(from); }
};
template <>
struct JsonOf<ServerConfig> {
  static nlohmann::json write(const ServerConfig& server) { return to_json(server); }
  static ServerConfig read(const nlohmann::json& from) { return server_from_json(from); }
};

}  // namespace campipe
