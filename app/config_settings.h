// What the file says, key by key, before defaults and cameras are merged: each value knows whether it was given,
// and where, so that a mistake in `defaults` is told once and not once per camera.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/config_reader.h"

namespace campipe {

struct EncodeSettings {
  using Gop = std::variant<int, std::chrono::nanoseconds>;
  using Options = std::vector<std::pair<std::string, std::string>>;

  const YamlNode* node = nullptr;
  bool good = true;  // nothing in it was refused
  Setting<std::string> codec;
  Setting<std::string> encoder;
  Setting<std::string> preset;
  Setting<std::int64_t> bitrate;
  Setting<double> crf;
  Setting<Gop> gop;
  Setting<Latency> latency;
  Setting<int> threads;
  Setting<Options> options;
};

struct RecordSettings {
  const YamlNode* node = nullptr;
  Setting<std::string> path;
};

struct CameraSettings {
  const YamlNode* node = nullptr;
  Setting<std::string> source;
  Setting<bool> loop;
  Setting<Pace> pace;
  Setting<std::string> gpu;
  Setting<std::optional<MemoryKind>> ipc_memory;
  Setting<std::optional<ReadySignal>> ready_signal;
  Setting<DropPolicy> drop_policy;
  Setting<int> queue_size;
  Setting<int> decode_threads;
  Setting<std::string> decode_gpu;
  Setting<std::vector<FilterConfig>> filters;
  EncodeSettings encode;
  RecordSettings record;
};

// What `own` does not give comes from `defaults`.
CameraSettings merge(const CameraSettings& own, const CameraSettings& defaults);
EncodeSettings merge(const EncodeSettings& own, const EncodeSettings& defaults);

template <typename T>
Setting<T> merge(const Setting<T>& own, const Setting<T>& defaults) {
  return own.node != nullptr ? own : defaults;
}

// The values, with the built-in defaults where nothing was given.
CameraConfig to_config(const CameraSettings& camera);
GpuPlaces gpu_places(const CameraSettings& camera);
EncoderConfig to_config(const EncodeSettings& encode);

// False: something in it was reported.
bool read_camera(const YamlNode& node, CameraSettings& camera, Report& report);
bool read_encode(const YamlNode& node, EncodeSettings& encode, Report& report);
std::optional<std::vector<FilterConfig>> read_filters(const YamlNode& node, Report& report);

// Mistakes that show only when everything is read and merged. `defaults`: its `encode`, or null.
void check_encoders(const std::vector<CameraSettings>& cameras, const YamlNode* defaults, Report& report);

void check_decode_gpus(const std::vector<CameraSettings>& cameras, Report& report);

struct RecordTarget {
  std::string camera;
  const YamlNode* path_node = nullptr;
  std::string path;
};
std::optional<std::string> check_record_path(const std::string& path);
void check_record_targets(const std::vector<RecordTarget>& targets, Report& report);

// Every map of the file that has fixed keys: its name ("" is the file itself) and its keys, from the tables that
// the loader reads by. For the documentation's test.
struct ConfigSection {
  std::string_view name;
  std::vector<std::string_view> keys;
};
std::vector<ConfigSection> camera_sections();
ConfigSection encode_section();
std::vector<ConfigSection> config_sections();

}  // namespace campipe
