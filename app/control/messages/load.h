// Between the supervisor and the process that reads its configuration (app/control/load_process.h): messages
// (app/control/messages/parts.h).
#pragma once

#include <string_view>

#include "app/config/changes.h"
#include "app/config/config.h"
#include "app/control/messages/parts.h"

namespace campipe::messages {

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

}  // namespace campipe::messages
