// What a camera's own stream and each of its outputs have (their keys: app/config/keys/stream.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/config/group_config.h"
#include "stages/encoders/encoder_config.h"
#include "stages/filters/filter_config.h"
#include "stages/sinks/push_url.h"

namespace campipe {

// It is passed on as the camera encoded it: nothing is decoded for it.
inline bool is_copy(const EncoderConfig& encode) { return encode.codec == "copy"; }

// Passed on as it comes where the camera sends what plays everywhere, else h264 (app/control/sent_stream.h). Only of a
// camera's own stream, of which nothing is wanted that copying cannot give; not of outputs.
inline bool is_auto(const EncoderConfig& encode) { return encode.codec == "auto"; }

// FFmpeg's name of an encoder that needs an NVIDIA GPU.
inline bool is_gpu_encoder(const std::string& name) { return name.ends_with("_nvenc"); }

enum class RecordWhen : std::uint8_t { always, motion };

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

// The file that `record.path` means for a camera's output at a time: {camera}, {output} and strftime fields filled in
// (local time).
std::string expand_record_path(const std::string& path, const std::string& camera, const std::string& output,
                               std::int64_t utc_seconds);

struct SnapshotConfig {
  std::string path;  // ends in .jpg; {camera} and {output} not yet filled in; time fields are not allowed
  std::chrono::nanoseconds every = std::chrono::seconds(1);
  friend bool operator==(const SnapshotConfig&, const SnapshotConfig&) = default;
};

struct StreamConfig {
  std::string name;                   // of the camera; of the output; of a ResolvedOutput: "dock", "dock/small"
  std::vector<FilterConfig> filters;  // of an output: after the camera's
  double rate = 0;                    // frames a second at most that are encoded; 0: all
  EncoderConfig encode;
  std::optional<RecordConfig> record;
  std::vector<PushUrl> push;
  std::optional<SnapshotConfig> snapshot;
  bool on_demand = false;            // encoded only while it has viewers
  std::optional<GroupConfig> group;  // of a camera's own stream: that gives its frames in sets
  friend bool operator==(const StreamConfig&, const StreamConfig&) = default;
};

// What is made of a camera's frames besides its own stream, in the same worker, from the same decoder. Its name is not
// "main", which is the camera's own.
struct OutputConfig : StreamConfig {
  friend bool operator==(const OutputConfig&, const OutputConfig&) = default;
};

// The output that a camera has of itself where browsers do not play its codec; they watch it instead.
inline constexpr const char* browser_output = "browser";
OutputConfig made_for_browsers();

// An output as it is run, with the filters that it takes of its camera. A camera's own stream is its output "main".
struct ResolvedOutput : StreamConfig {
  std::string camera;           // for {camera}: the camera's name
  std::string output = "main";  // for {output}
  std::string node = {};        // of a cluster, which records it and is named by its files; empty: there is none
  friend bool operator==(const ResolvedOutput&, const ResolvedOutput&) = default;
};

}  // namespace campipe
