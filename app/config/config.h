// A configuration as it was loaded. load_config() turns a YAML file into this, or reports everything that is wrong with
// it; nothing else reads YAML.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/config/config_error.h"
#include "app/config/rig_config.h"

namespace campipe {

// Where a key's value stands in the file.
struct ConfigPlace {
  int line = 0;  // 0: it was not given
  int column = 0;
  std::string path;
  std::string shown;  // the value, fit to be printed
  ConfigDocument document = ConfigDocument::file;
};

// A camera's keys that can be checked only by who knows the machine's GPUs (app/placement/plan.h), or its sources
// (app/rig_check.h).
struct GpuPlaces {
  ConfigPlace gpu;
  ConfigPlace decode_gpu;
  ConfigPlace ipc_memory;
  ConfigPlace encoder;
  std::vector<ConfigPlace> output_encoders = {};  // of its outputs, in their order
  ConfigPlace stage_decode = {};                  // of `placement`
  ConfigPlace stage_filter = {};
  ConfigPlace stage_encode = {};
  ConfigPlace stage_tiles = {};
  ConfigPlace source = {};
  std::vector<ConfigPlace> filters = {};                      // each of its own stream's
  std::vector<std::vector<ConfigPlace>> output_filters = {};  // likewise, of its outputs
};

struct LoadedConfig {
  RigConfig rig;
  std::vector<GpuPlaces> gpu_places;  // for each camera
  std::vector<ConfigError> errors;    // in the order of the file; not empty: `rig` must not be used
  // What cannot be used on this machine now, such as a folder whose disk is not there: no mistake, and it passes.
  std::vector<ConfigError> conditions = {};
  std::uint64_t digest = 0;  // of the file, without its overlay: see read_yaml_file()
  // Which of the file's own cameras its overlay replaces, removes, enables or disables: "gate removed". Only of the
  // loading itself: they stay behind where the rest goes on as JSON.
  std::vector<std::string> overlay_effects = {};
};
// With its overlay, if there is one. Never throws for what is in the files. Files over 1 MiB, deep nesting, aliases and
// binary are refused at once.
LoadedConfig load_config(const std::filesystem::path& file);

// A JSON Schema (draft 2020-12) of the file, for editors.
std::string config_schema();

}  // namespace campipe
