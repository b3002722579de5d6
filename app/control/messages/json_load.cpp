// The JSON of messages to and from the process that reads the configuration.
#include "app/config/changes.h"
#include "app/config/config.h"
#include "app/config/loaded_json.h"
#include "app/control/messages/json.h"
#include "app/control/messages/load.h"

namespace campipe {

template <>
struct FieldsOf<CameraChanges> {
  static void fields(auto& m, auto&& f) {
    f("cameras", m.cameras), f("mosaics", m.mosaics), f("sync_groups", m.groups), f("enabled", m.enabled);
  }
};
template <>
struct FieldsOf<LoadStep> {
  static void fields(auto& m, auto&& f) { f("place", m.place), f("remedy", m.remedy); }
};
template <>
struct JsonOf<std::map<std::string, bool>> {
  static nlohmann::json write(const std::map<std::string, bool>& all) { return all; }
  static std::map<std::string, bool> read(const nlohmann::json& from) { return from; }
};
template <>
struct JsonOf<ConfigError> {
  static nlohmann::json write(const ConfigError& error) { return to_json(error); }
  static ConfigError read(const nlohmann::json& from) { return config_error_from_json(from); }
};
template <>
struct JsonOf<LoadedConfig> {
  static nlohmann::json write(const LoadedConfig& loaded) { return to_json(loaded); }
  static LoadedConfig read(const nlohmann::json& from) { return loaded_from_json(from); }
};

template struct JsonOfAll<messages::ToLoadProcess>;
template struct JsonOfAll<messages::FromLoadProcess>;

}  // namespace campipe
