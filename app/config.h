// The rig as its owner describes it. load_config() turns a YAML file into this, or says everything that is wrong
// with it; nothing else reads YAML. Every key is described in docs/configuration.md, which a test holds complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stages/encoders/encoder.h"
#include "stages/filters/chain.h"
#include "stages/sources/source.h"

namespace campipe {

enum class DropPolicy : std::uint8_t { drop, block };

struct RecordConfig {
  std::string path;  // {camera} and strftime fields not yet filled in
  friend bool operator==(const RecordConfig&, const RecordConfig&) = default;
};

struct CameraConfig {
  std::string name;
  SourceConfig source;
  std::string gpu = "auto";
  DropPolicy drop_policy = DropPolicy::block;  // `auto` is resolved when loading: every source of today is a file
  int queue_size = 8;                          // pictures that may wait for the worker
  int decode_threads = 1;
  std::vector<FilterConfig> filters;
  EncoderConfig encode;
  std::optional<RecordConfig> record;
  friend bool operator==(const CameraConfig&, const CameraConfig&) = default;
};

struct RigConfig {
  std::vector<CameraConfig> cameras;  // in the file's order
  std::optional<int> worker_count;    // none: auto
};

// One mistake, as a compiler would tell it: "rig.yaml:14:7: cameras.dock.filters[1].resize.widht: unknown key, did you
// mean 'width'?"
struct ConfigError {
  int line = 0;  // from 1; 0: the file as a whole
  int column = 0;
  std::string path;  // of the key; may be empty
  std::string message;
};
std::string format(const ConfigError& error, const std::string& file);

struct LoadedConfig {
  RigConfig rig;
  std::vector<ConfigError> errors;  // in the order of the file; not empty: `rig` must not be used
};
// Never throws for what is in the file. Files over 1 MiB, deep nesting, aliases and binary are refused at once.
LoadedConfig load_config(const std::filesystem::path& file);

// A camera's configuration on its way to another process.
nlohmann::json to_json(const CameraConfig& camera);
CameraConfig camera_from_json(const nlohmann::json& json);

// The file that `record.path` means for a camera at a time: {camera} and strftime fields filled in (local time).
std::string expand_record_path(const std::string& path, const std::string& camera, std::int64_t utc_seconds);

}  // namespace campipe
