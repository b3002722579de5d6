// The rig as its owner describes it. load_config() turns a YAML file into this, or says everything that is wrong
// with it; nothing else reads YAML. Every key is described in docs/configuration.md, which a test holds complete.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/frame.h"
#include "stages/encoders/encoder.h"
#include "stages/filters/chain.h"
#include "stages/sinks/push_url.h"
#include "stages/sources/source.h"

namespace campipe {

enum class DropPolicy : std::uint8_t { drop, block };

// Whether processes use GPUs through NVIDIA's MPS daemon (docs/operations.md).
enum class Mps : std::uint8_t { off, use };

enum class RecordWhen : std::uint8_t { always, motion };
enum class OnCorrupt : std::uint8_t { show, skip };

struct RecordConfig {
  std::string path;                              // {camera}, {output} and strftime fields not yet filled in
  std::chrono::nanoseconds segment_duration{0};  // 0: one file
  std::optional<std::chrono::nanoseconds> delete_after = {};  // files whose end is older are deleted
  std::optional<std::int64_t> max_size = {};                  // bytes of this recording's files, together
  std::optional<std::int64_t> keep_free = {};                 // bytes of the disk
  bool overwrite = false;                                     // a file that another run left under its name
  RecordWhen when = RecordWhen::always;
  std::chrono::nanoseconds before = std::chrono::seconds(5);  // of motion, that is kept
  std::chrono::nanoseconds after = std::chrono::seconds(10);
  friend bool operator==(const RecordConfig&, const RecordConfig&) = default;
};

struct SnapshotConfig {
  std::string path;  // ends in .jpg; {camera} and {output} not yet filled in; time fields are not allowed
  std::chrono::nanoseconds every = std::chrono::seconds(1);
  friend bool operator==(const SnapshotConfig&, const SnapshotConfig&) = default;
};

// What is made of a camera's pictures besides its own stream, in the same worker, from the same decoder.
struct OutputConfig {
  std::string name;                   // not "main", which is the camera's own
  std::vector<FilterConfig> filters;  // after the camera's
  double rate = 0;                    // frames a second at most; 0: all
  EncoderConfig encode;
  std::optional<RecordConfig> record;
  std::vector<PushUrl> push;
  std::optional<SnapshotConfig> snapshot;
  bool on_demand = false;  // encoded only while somebody watches
  friend bool operator==(const OutputConfig&, const OutputConfig&) = default;
};

struct CameraConfig {
  std::string name;             // of the camera; of an output: "dock/small"
  std::string output = "main";  // for {output}
  SourceConfig source;
  std::string gpu = "auto";                    // auto, cpu, or a GPU's index or UUID
  std::optional<MemoryKind> ipc_memory;        // of a ring that a GPU fills; none: auto
  std::optional<ReadySignal> ready_signal;     // likewise
  DropPolicy drop_policy = DropPolicy::block;  // `auto` is resolved when loading: live sources drop
  int queue_size = 8;                          // pictures that may wait for the worker
  int decode_threads = 1;
  std::string decode_gpu = "auto";  // like gpu; auto: the same GPU
  std::vector<FilterConfig> filters;
  EncoderConfig encode;
  std::optional<RecordConfig> record;
  std::vector<PushUrl> push;
  std::optional<SnapshotConfig> snapshot;
  double rate = 0;            // frames a second at most that are encoded; 0: all
  bool on_demand = false;     // encoded only while somebody watches
  bool for_browsers = false;  // where it sends what they do not play, it has one more output; see resolved()
  std::vector<OutputConfig> outputs;
  std::chrono::nanoseconds retry_interval = std::chrono::seconds(1);  // until a live source is opened again; doubles
  std::chrono::nanoseconds retry_max = std::chrono::seconds(30);
  OnCorrupt on_corrupt = OnCorrupt::show;
  bool use_absolute_timestamp = true;  // frames were taken when the camera says so, if its clock can be right
  bool enabled = true;                 // false: it has its place in the rig, and nothing of it runs
  friend bool operator==(const CameraConfig&, const CameraConfig&) = default;
};

// One output of a camera, as a camera of its own that follows the other: its filters, encoder and targets.
CameraConfig follower(const CameraConfig& camera, const OutputConfig& output);

// For {camera}: the camera's name, also of a follower.
inline std::string camera_name(const CameraConfig& config) { return config.name.substr(0, config.name.find('/')); }

// It is passed on as the camera encoded it: nothing is decoded for it.
inline bool is_copy(const EncoderConfig& encode) { return encode.codec == "copy"; }

// Passed on as it comes where the camera sends what plays everywhere, else h264 (app/control/sent_stream.h). Only of a
// camera's own stream, of which nothing is wanted that copying cannot give; not of outputs.
inline bool is_auto(const EncoderConfig& encode) { return encode.codec == "auto"; }

// view: watch, and see how the rig does. record: also recordings, and starting and stopping them. administer: all.
// Each includes those before it.
enum class Permission : std::uint8_t { view, record, administer };

struct UserConfig {
  std::string name;
  std::string password;     // its argon2id hash, as `campipe hash-password` prints it
  std::string rtsp_secret;  // in clear, for RTSP's Digest; empty: this user has Basic only
  Permission may = Permission::view;
  std::vector<std::string> cameras;  // empty: all
  friend bool operator==(const UserConfig&, const UserConfig&) = default;
};

struct TlsConfig {
  std::string certificate;  // PEM files
  std::string key;
  friend bool operator==(const TlsConfig&, const TlsConfig&) = default;
};

// What the publisher serves. Without users everybody who reaches an address may watch, record, enable and disable (the
// rest takes the rig's token): then addresses other than loopback ones are a mistake, unless `insecure` says that it is
// meant.
struct ServerConfig {
  std::string http_address = "127.0.0.1:8080";  // "HOST:PORT", ":PORT" for all addresses, port 0: any; empty: off
  std::string rtsp_address = "127.0.0.1:8554";  // likewise
  bool insecure = false;
  std::optional<TlsConfig> tls;  // for HTTP and RTSP
  std::vector<UserConfig> users;
  std::vector<std::string> trusted_proxies;  // whose X-Forwarded-For is believed: addresses, or networks ("10.0.0.0/8")
  friend bool operator==(const ServerConfig&, const ServerConfig&) = default;
};

inline bool serves(const ServerConfig& server) { return !server.http_address.empty() || !server.rtsp_address.empty(); }

struct RigConfig {
  std::vector<CameraConfig> cameras;  // in the file's order
  std::optional<int> worker_count;    // none: auto
  Mps mps = Mps::off;
  std::string events;  // a file that gets a line of JSON for each event; empty: events.jsonl, where a camera has motion
  std::optional<unsigned> umask;  // of all processes; none: as started, and nothing for others
  ServerConfig server;
};

// What a value stands in: the file, its overlay, or a request to the API (app/config/changes.h). In the order in which
// they go over one another.
enum class ConfigDocument : std::uint8_t { file, overlay, request };

// One mistake, as a compiler would tell it: "rig.yaml:14:7: cameras.dock.filters[1].resize.widht: unknown key, did you
// mean 'width'?"
struct ConfigError {
  int line = 0;  // from 1; 0: the file as a whole
  int column = 0;
  std::string path;  // of the key; may be empty
  std::string message;
  ConfigDocument document = ConfigDocument::file;
};
// `file`: the configuration's; a mistake in its overlay is told with that file's name.
std::string format(const ConfigError& error, const std::string& file);

// The output that a camera has of itself where browsers do not play its codec; they watch it instead.
inline constexpr const char* browser_output = "browser";
OutputConfig made_for_browsers();

// Where a key's value stands in the file.
struct ConfigPlace {
  int line = 0;  // 0: it was not given
  int column = 0;
  std::string path;
  std::string shown;  // the value, fit to be printed
  ConfigDocument document = ConfigDocument::file;
};

// FFmpeg's name of an encoder that needs an NVIDIA GPU.
inline bool is_gpu_encoder(const std::string& name) { return name.ends_with("_nvenc"); }

// A camera's keys that can be checked only by who knows the machine's GPUs (app/placement/plan.h).
struct GpuPlaces {
  ConfigPlace gpu;
  ConfigPlace decode_gpu;
  ConfigPlace ipc_memory;
  ConfigPlace encoder;
  std::vector<ConfigPlace> output_encoders = {};  // of its outputs, in their order
};

struct LoadedConfig {
  RigConfig rig;
  std::vector<GpuPlaces> gpu_places;  // for each camera
  std::vector<ConfigError> errors;    // in the order of the file; not empty: `rig` must not be used
};
// With its overlay, if there is one. Never throws for what is in the files. Files over 1 MiB, deep nesting, aliases and
// binary are refused at once.
LoadedConfig load_config(const std::filesystem::path& file);

// A camera's configuration on its way to another process.
nlohmann::json to_json(const CameraConfig& camera);
CameraConfig camera_from_json(const nlohmann::json& json);
// Of the servers' on its way to the publisher.
nlohmann::json to_json(const ServerConfig& server);
ServerConfig server_from_json(const nlohmann::json& json);

// The file that `record.path` means for a camera's output at a time: {camera}, {output} and strftime fields filled in
// (local time).
std::string expand_record_path(const std::string& path, const std::string& camera, const std::string& output,
                               std::int64_t utc_seconds);

}  // namespace campipe
