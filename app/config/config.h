// The rig as its owner describes it. load_config() turns a YAML file into this, or reports everything that is wrong
// with it; nothing else reads YAML. The description of each key stands beside the member that holds its value
// (app/config/key.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/config/camera_config.h"
#include "app/config/cluster_config.h"
#include "app/config/mosaic_keys.h"
#include "app/config/server_config.h"

namespace campipe {

// Whether processes use GPUs through NVIDIA's MPS daemon (docs/operations.md).
enum class Mps : std::uint8_t { off, use };

// What becomes of cameras that need more than the machine has (docs/capacity.md).
enum class Admission : std::uint8_t { warn, refuse };

// Whether cameras go over from workers that are late to others that have room (docs/operations.md).
enum class Balance : std::uint8_t { automatic, off };

// A camera's outputs as they are run: its own stream first, then the others in their order.
std::vector<ResolvedOutput> resolved_outputs(const CameraConfig& camera);

// It is passed on as the camera encoded it: nothing is decoded for it.
inline bool is_copy(const EncoderConfig& encode) { return encode.codec == "copy"; }

// Passed on as it comes where the camera sends what plays everywhere, else h264 (app/control/sent_stream.h). Only of a
// camera's own stream, of which nothing is wanted that copying cannot give; not of outputs.
inline bool is_auto(const EncoderConfig& encode) { return encode.codec == "auto"; }

inline bool serves(const ServerConfig& server) { return !server.http_address.empty() || !server.rtsp_address.empty(); }

struct RigConfig {
  std::vector<CameraConfig> cameras;  // in the file's order, and then the mosaics
  std::optional<int> worker_count;    // none: auto
  Mps mps = Mps::off;
  Admission admission = Admission::warn;
  Balance balance = Balance::automatic;
  std::string events;  // a file that gets a line of JSON for each event; empty: events.jsonl, where a camera has motion
  std::optional<unsigned> umask;         // of all processes; none: as started, and nothing for others
  std::optional<ClusterConfig> cluster;  // none: this machine is a rig of its own
  ServerConfig server;
};

bool read_defaults(const YamlNode& node, Given<RigConfig>& file, Report& report);
bool read_cameras(const YamlNode& node, Given<RigConfig>& file, Report& report);
bool read_mosaics(const YamlNode& node, Given<RigConfig>& file, Report& report);
bool read_groups(const YamlNode& node, Given<RigConfig>& file, Report& report);

template <typename Keys>
void describe_keys(Keys& keys, Of<RigConfig>) {
  using R = RigConfig;
  keys.part(
      "defaults", read_defaults, R"({"$ref": "#/$defs/camera"})",
      {.meaning = "what every camera has unless it sets it itself", .range = "keys of a camera", .fallback = "none"});
  keys.entries("cameras", &R::cameras, read_cameras, R"({"$ref": "#/$defs/cameras"})",
               {.meaning = "a camera's name (1 to 64 of A–Z, a–z, 0–9, `_`, `-`; a letter or digit first) and its keys",
                .range = "1 to 256 cameras",
                .fallback = required});
  keys.part(
      "mosaics", read_mosaics, R"({"$ref": "#/$defs/mosaics"})",
      {.meaning = "streams that show many cameras at once: a mosaic's name, as a camera's and none of theirs, and "
                  "its keys",
       .range = "up to 256 cameras and mosaics",
       .fallback = "none"});
  keys.part("sync_groups", read_groups, R"({"$ref": "#/$defs/sync_groups"})",
            {.meaning = "cameras that stay in step: a group's name, as a camera's, and its keys",
             .range = "groups, see below",
             .fallback = "none"});
  keys.group(
      "workers", {.meaning = "the processes that filter and encode", .fallback = "see below"}, [](auto& workers) {
        workers.key(
            "count", &R::worker_count, IntegerKey{1, 15, true},
            {.meaning = "those on the CPU; `auto`: one for every two cores. Each GPU in use has one worker of its own",
             .unit = "processes"});
      });
  keys.key(
      "admission", &R::admission,
      {.meaning = "what becomes of cameras that need more decoding, cores, memory or descriptors than [the machine "
                  "has](capacity.md#admission): `warn` logs it; `refuse` does not start them, and refuses changes "
                  "that bring them"});
  keys.key("balance", &R::balance,
           {.meaning =
                "`auto`: cameras of a worker that has too much to do [go over](operations.md#balance) to one that has "
                "room, without losing a frame; `off`: they stay where they are"});
  keys.key("events", &R::events, ParsedKey{read_events, "string", R"({"type": "string", "minLength": 1})"},
           {.meaning = "the file that gets a [line of JSON](operations.md#recordings) when motion begins and when it "
                       "ends; no link or pipe",
            .range = "a path",
            .fallback = "`events.jsonl`, where a camera has the filter `motion`"});
  keys.key("umask", &R::umask, ParsedKey{read_umask, "string", R"({"$ref": "#/$defs/umask"})"},
           {.meaning = "which permissions files and folders that campipe makes do not have, in octal. `0022` lets "
                       "every user of the machine see recordings and snapshots",
            .range = "`0000` to `0077`",
            .fallback = "as it is started, and at least `0027`"});
  keys.key("mps", &R::mps, ParsedKey{read_mps, "choice", R"({"enum": ["off", "use"]})"},
           {.meaning = "`use`: the processes share the GPUs through NVIDIA's MPS daemon, which must run "
                       "([costs](operations.md#gpus)); `off`: campipe does not join a daemon that runs"});
  keys.section("cluster", &R::cluster,
               {.meaning = "several machines that run one rig, of which this one is a node", .fallback = "no cluster"});
  keys.inlined(&R::server);
}

// What a value stands in: the file, its overlay, or a request to the API (app/config/changes.h). In the order in which
// they go over one another.
enum class ConfigDocument : std::uint8_t { file, overlay, request };

// One mistake, as a compiler would report it: "rig.yaml:14:7: cameras.dock.filters[1].resize.widht: unknown key, did
// you mean 'width'?"
struct ConfigError {
  int line = 0;  // from 1; 0: the file as a whole
  int column = 0;
  std::string path;  // of the key; may be empty
  std::string message;
  ConfigDocument document = ConfigDocument::file;
  bool contradicts = false;  // it is good in itself, but not beside what stands elsewhere
};
// `file`: the configuration's; a mistake in its overlay is reported with that file's name.
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

// A camera's keys that can be checked only by who knows the machine's GPUs (app/placement/plan.h), or its sources
// (app/supervisor/rig_check.h).
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
  std::uint64_t digest = 0;           // of the file, without its overlay: see read_yaml_file()
  // Which of the file's own cameras its overlay replaces, removes, enables or disables: "gate removed". Only of the
  // loading itself: they stay behind where the rest goes on as JSON.
  std::vector<std::string> overlay_effects = {};
};
// With its overlay, if there is one. Never throws for what is in the files. Files over 1 MiB, deep nesting, aliases and
// binary are refused at once.
LoadedConfig load_config(const std::filesystem::path& file);

// A JSON Schema (draft 2020-12) of the file, for editors.
std::string config_schema();

// A camera's or output's configuration on its way to another process.
nlohmann::json to_json(const CameraConfig& camera);
CameraConfig camera_from_json(const nlohmann::json& json);
nlohmann::json to_json(const ResolvedOutput& output);
ResolvedOutput output_from_json(const nlohmann::json& json);
// The whole, as it was loaded.
nlohmann::json to_json(const RigConfig& rig);
RigConfig rig_from_json(const nlohmann::json& json);
// Of the servers' on its way to the publisher.
nlohmann::json to_json(const ServerConfig& server);
ServerConfig server_from_json(const nlohmann::json& json);
nlohmann::json to_json(const ClusterConfig& cluster);
ClusterConfig cluster_from_json(const nlohmann::json& json);

// The file that `record.path` means for a camera's output at a time: {camera}, {output} and strftime fields filled in
// (local time).
std::string expand_record_path(const std::string& path, const std::string& camera, const std::string& output,
                               std::int64_t utc_seconds);

}  // namespace campipe
