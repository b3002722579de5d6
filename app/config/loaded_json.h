// A whole configuration on its way between two processes of one build (app/control/load_process.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace campipe {

struct ConfigError;
struct LoadedConfig;

nlohmann::json to_json(const ConfigError& error);
ConfigError config_error_from_json(const nlohmann::json& from);

// Of a configuration with mistakes its section `cluster` goes along, if the mistakes are elsewhere, and nothing else.
nlohmann::json to_json(const LoadedConfig& loaded);
LoadedConfig loaded_from_json(const nlohmann::json& from);

}  // namespace campipe
