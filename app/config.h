// The rig as its owner describes it. load_config() turns a YAML file into this, or says everything that is wrong
// with it; nothing else reads YAML. Every key is described in docs/configuration.md, which a test holds complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/frame.h"
#include "stages/encoders/encoder.h"
#include "stages/filters/chain.h"
#include "stages/sources/source.h"

namespace campipe {

enum class DropPolicy : std::uint8_t { drop, block };

// Whether processes use GPUs through NVIDIA's MPS daemon (docs/operations.md).
enum class Mps : std::uint8_t { off, use };

struct RecordConfig {
  std::string path;  // {camera} and strftime fields not yet filled in
  friend bool operator==(const RecordConfig&, const RecordConfig&) = default;
};

struct CameraConfig {
  std::string name;
  SourceConfig source;
  std::string gpu = "auto";                    // auto, cpu, or a GPU's index or UUID
  std::optional<MemoryKind> ipc_memory;        // of a ring that a GPU fills; none: auto
  std::optional<ReadySignal> ready_signal;     // likewise
  DropPolicy drop_policy = DropPolicy::block;  // `auto` is resolved when loading: every source of today is a file
  int queue_size = 8;                          // pictures that may wait for the worker
  int decode_threads = 1;
  std::string decode_gpu = "auto";  // like gpu; auto: the same GPU
  std::vector<FilterConfig> filters;
  EncoderConfig encode;
  std::optional<RecordConfig> record;
  friend bool operator==(const CameraConfig&, const CameraConfig&) = default;
};

struct RigConfig {
  std::vector<CameraConfig> cameras;  // in the file's order
  std::optional<int> worker_count;    // none: auto
  Mps mps = Mps::off;
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

// Where a key's value stands in the file.
struct ConfigPlace {
  int line = 0;  // 0: it was not given
  int column = 0;
  std::string path;
  std::string shown;  // the value, fit to be printed
};

// FFmpeg's name of an encoder that needs an NVIDIA GPU.
inline bool is_gpu_encoder(const std::string& name) { return name.ends_with("_nvenc"); }

// A camera's keys that can be checked only by who knows the machine's GPUs (app/plan.h).
struct GpuPlaces {
  ConfigPlace gpu;
  ConfigPlace decode_gpu;
  ConfigPlace ipc_memory;
  ConfigPlace encoder;
};

struct LoadedConfig {
  RigConfig rig;
  std::vector<GpuPlaces> gpu_places;  // for each camera
  std::vector<ConfigError> errors;    // in the order of the file; not empty: `rig` must not be used
};
// Never throws for what is in the file. Files over 1 MiB, deep nesting, aliases and binary are refused at once.
LoadedConfig load_config(const std::filesystem::path& file);

// A camera's configuration on its way to another process.
nlohmann::json to_json(const CameraConfig& camera);
CameraConfig camera_from_json(const nlohmann::json& json);

// The file that `record.path` means for a camera at a time: {camera} and strftime fields filled in (local time).
std::string expand_record_path(const std::string& path, const std::string& camera, std::int64_t utc_seconds);

}  // namespace campipe
