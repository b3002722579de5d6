// Between the supervisor and the process that reads its configuration (app/control/load_process.h): messages as in
// app/control/messages.h.
#pragma once

#include <string_view>

#include "app/config/changes.h"
#include "app/config/loaded_json.h"
#include "app/control/message_dispatch.h"

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

namespace messages {

struct LoadConfig {
  static constexpr std::string_view type = "load";
  bool keep = false;  // keep_changes(); else load_config_with()
  CameraChanges changes;
  static void fields(auto& m, auto&& f) { f("keep", m.keep), f("changes", m.changes); }
};
using ToLoadProcess = MessageList<LoadConfig>;

// What it is about to do, and may not come back from.
struct LoadsNext {
  static constexpr std::string_view type = "step";
  LoadStep step;
  static void fields(auto& m, auto&& f) { f("step", m.step); }
};
struct Loaded {
  static constexpr std::string_view type = "loaded";
  LoadedConfig config;
  static void fields(auto& m, auto&& f) { f("config", m.config); }
};
using FromLoadProcess = MessageList<LoadsNext, Loaded>;

}  // namespace messages
}  // namespace campipe
