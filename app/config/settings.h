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

#include "app/config/reader.h"

namespace campipe {

struct EncodeSettings {
  using Gop = std::variant<int, std::chrono::nanoseconds>;
  using Options = std::vector<std::pair<std::string, std::string>>;

  std::vector<const YamlNode*> nodes;  // the maps that it comes from, the nearest first
  bool good = true;                    // nothing in them was refused
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
  Setting<std::chrono::nanoseconds> segment_duration;
  Setting<std::chrono::nanoseconds> delete_after;
  Setting<std::int64_t> max_size;
  Setting<std::int64_t> keep_free;
  Setting<bool> overwrite;
  Setting<RecordWhen> when;
  Setting<std::chrono::nanoseconds> before;
  Setting<std::chrono::nanoseconds> after;
};

struct SnapshotSettings {
  const YamlNode* node = nullptr;
  Setting<std::string> path;
  Setting<std::chrono::nanoseconds> every;
};

// Where a camera's packets come from, and how.
struct SourceSettings {
  Setting<std::string> url;
  Setting<int> stream;
  Setting<Audio> audio;
  Setting<RtspTransport> rtsp_transport;
  Setting<std::chrono::nanoseconds> read_timeout;
  Setting<std::chrono::nanoseconds> retry_interval;
  Setting<std::chrono::nanoseconds> retry_max;
  Setting<bool> verify_certificate;
  Setting<std::string> ca_file;
  Setting<bool> allow_redirects;
  Setting<int> capture_width;
  Setting<int> capture_height;
  Setting<double> capture_rate;
  Setting<std::string> capture_format;
  Setting<bool> loop;
  Setting<Pace> pace;
};

// What a camera's own stream and each of its outputs have.
struct StreamSettings {
  Setting<std::vector<FilterConfig>> filters;
  Setting<double> rate;
  EncodeSettings encode;
  RecordSettings record;
  Setting<std::vector<PushUrl>> push;
  SnapshotSettings snapshot;
};

struct OutputSettings : StreamSettings {
  const YamlNode* node = nullptr;
};

struct CameraSettings : SourceSettings, StreamSettings {
  const YamlNode* node = nullptr;
  Setting<OnCorrupt> on_corrupt;
  Setting<bool> use_absolute_timestamp;
  Setting<bool> enabled;
  Setting<std::string> gpu;
  Setting<std::optional<MemoryKind>> ipc_memory;
  Setting<std::optional<ReadySignal>> ready_signal;
  Setting<std::optional<DropPolicy>> drop_policy;
  Setting<int> queue_size;
  Setting<int> decode_threads;
  Setting<std::string> decode_gpu;
  Setting<std::vector<OutputSettings>> outputs;
};

template <typename T>
Setting<T> merge(const Setting<T>& own, const Setting<T>& defaults) {
  if (own.node != nullptr) return own;
  Setting<T> merged = defaults;
  ++merged.inherited;
  return merged;
}

// What `own` does not give comes from `defaults`. The outputs' `encode` comes from the merged camera's.
CameraSettings merge(const CameraSettings& own, const CameraSettings& defaults);
SourceSettings merge(const SourceSettings& own, const SourceSettings& defaults);
EncodeSettings merge(const EncodeSettings& own, const EncodeSettings& defaults);
RecordSettings merge(const RecordSettings& own, const RecordSettings& defaults);
SnapshotSettings merge(const SnapshotSettings& own, const SnapshotSettings& defaults);

// The values, with the built-in defaults where nothing was given. Keys of `defaults` that mean nothing for such a
// source or codec do not apply.
CameraConfig to_config(const CameraSettings& camera);
SourceConfig source_config(const SourceSettings& source);
EncoderConfig encoder_config(const EncodeSettings& encode);
std::vector<OutputConfig> output_configs(const CameraSettings& camera);
std::optional<RecordConfig> record_config(const RecordSettings& record);
std::optional<SnapshotConfig> snapshot_config(const SnapshotSettings& snapshot);
GpuPlaces gpu_places(const CameraSettings& camera);
// Of cameras whose own stream is encoded as something that browsers do not play.
void add_browser_outputs(LoadedConfig& loaded);

inline bool is_copy(const EncodeSettings& encode) { return encode.codec.value == "copy"; }
inline bool is_auto(const EncodeSettings& encode) { return encode.codec.value.value_or("auto") == "auto"; }
// What an encoder makes of it, where one is needed.
std::string encoded_codec(const EncodeSettings& encode);
// Nothing is asked of a camera's own stream that copying cannot give; its codec, and its outputs, do not matter.
bool is_plain(const CameraSettings& camera);
// Those that only look: all that there is for packets that are copied.
std::vector<FilterConfig> motion_filters(const StreamSettings& stream);

// Into a CameraConfig or an OutputConfig.
template <typename Config>
void fill_in_stream(const StreamSettings& stream, Config& config) {
  config.encode = encoder_config(stream.encode);
  config.record = record_config(stream.record);
  config.push = stream.push.value.value_or(std::vector<PushUrl>());
  if (is_copy(stream.encode)) {
    config.filters = motion_filters(stream);
    return;
  }
  config.filters = stream.filters.value.value_or(std::vector<FilterConfig>());
  config.rate = stream.rate.value.value_or(0);
  config.snapshot = snapshot_config(stream.snapshot);
}

// False: something in it was reported.
bool read_camera(const YamlNode& node, CameraSettings& camera, Report& report);
bool read_source(const YamlNode& node, SourceSettings& source, Report& report);
bool read_tls(const YamlNode& node, SourceSettings& source, Report& report);
bool read_capture(const YamlNode& node, SourceSettings& source, Report& report);
bool read_filters(const YamlNode& node, StreamSettings& stream, Report& report);
bool read_rate(const YamlNode& node, StreamSettings& stream, Report& report);
bool read_encode(const YamlNode& node, StreamSettings& stream, Report& report);
bool read_record(const YamlNode& node, StreamSettings& stream, Report& report);
bool read_push(const YamlNode& node, StreamSettings& stream, Report& report);
bool read_snapshot(const YamlNode& node, StreamSettings& stream, Report& report);
bool read_outputs(const YamlNode& node, CameraSettings& camera, Report& report);

// Of cameras and outputs. False: reported.
bool check_name(const YamlNode& named, std::string_view whose, Report& report);

// A camera's own stream, or an output's, for checks that are the same for both.
struct NamedStream {
  const CameraSettings* camera = nullptr;
  const StreamSettings* stream = nullptr;
  const YamlNode* node = nullptr;  // the camera's or the output's
  std::string output = "main";
};
std::vector<NamedStream> streams_of(const std::vector<CameraSettings>& cameras);

// Mistakes that show only when everything is read and merged.
void check_sources(const std::vector<CameraSettings>& cameras, Report& report);
void check_decode_gpus(const std::vector<CameraSettings>& cameras, Report& report);
void check_copies(const std::vector<CameraSettings>& cameras, Report& report);
void check_encoders(const std::vector<CameraSettings>& cameras, Report& report);
void check_recordings(const std::vector<CameraSettings>& cameras, Report& report);
void check_pushes(const std::vector<CameraSettings>& cameras, Report& report);

// What is wrong with a path's fields or its length, or nothing.
std::optional<std::string> check_record_path(const std::string& path);
std::optional<std::string> check_snapshot_path(const std::string& path);
// It is another file each second.
bool tells_seconds(const std::string& path);
// That the file could be made; creates nothing.
bool check_can_be_written(const std::string& path, const YamlNode& node, Report& report);

// A file that a camera writes, or several by the time. `what`: "records", "writes snapshots".
struct FileTarget {
  std::string camera;
  std::string output;
  std::string_view what;
  const YamlNode* node = nullptr;
  std::string path;
};
void check_files(const std::vector<FileTarget>& targets, Report& report);

// Every map of the file that has fixed keys: its name ("" is the file itself) and its keys, from the tables that
// the loader reads by. For the documentation's test.
struct ConfigSection {
  std::string_view name;
  std::vector<std::string_view> keys;
};
std::vector<ConfigSection> camera_sections();
std::vector<ConfigSection> source_sections();
std::vector<ConfigSection> target_sections();
ConfigSection encode_section();
ConfigSection outputs_section();
std::vector<ConfigSection> config_sections();

}  // namespace campipe
