// What a camera's own stream and each of its outputs have: values, and beside them the description of their keys.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/config/group_config.h"
#include "app/config/key.h"
#include "app/config/values.h"
#include "stages/encoders/encoder.h"
#include "stages/filters/chain.h"
#include "stages/sinks/push_url.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<EncoderConfig>) {
  using E = EncoderConfig;
  constexpr KeyScope transcoded = KeyScope::transcoded;
  keys.key("codec", &E::codec,
           ParsedKey{read_codec, "choice", R"({"enum": ["auto", "h264", "hevc", "mjpeg", "copy"]})"},
           {.meaning = "what is made; `auto`: see above",
            .range = "`auto`, `h264`, `hevc`, `mjpeg`, `copy`; outputs: not `auto`",
            .fallback = "`auto`; outputs: the camera's, or `h264`"});
  keys.key("encoder", &E::encoder, ParsedKey{read_encoder, "string", R"({"type": "string", "minLength": 1})"},
           {.meaning = "what makes it; `auto`: `h264_nvenc` or `hevc_nvenc` on a GPU that has it, as long as it opens, "
                       "else `libx264`, `libx265` or `mjpeg`",
            .range = "`auto`, or FFmpeg's name of an encoder of that codec",
            .scope = transcoded,
            .of_codec = true});
  keys.key("preset", &E::preset, ParsedKey{read_preset, "string", R"({"type": "string", "minLength": 1})"},
           {.meaning = "speed against quality; `auto`: `superfast` for libx264 and libx265",
            .range = "`auto`, or a preset of the encoder",
            .scope = transcoded,
            .of_codec = true});
  keys.key("bitrate", &E::bitrate, ParsedKey{read_bitrate, "bit rate", R"({"$ref": "#/$defs/bitrate"})"},
           {.meaning = "the average; not together with `crf`",
            .unit = "bits a second",
            .range = "10k to 1G",
            .fallback = "4M",
            .scope = transcoded,
            .excludes = "encode.crf"});
  keys.key("crf", &E::crf, NumberKey{0, 51},
           {.meaning = "constant quality, lower is better, instead of `bitrate`",
            .fallback = "none",
            .scope = transcoded,
            .excludes = "encode.bitrate",
            .of_codec = true});
  keys.key("gop", &E::gop, ParsedKey{read_gop, "integer or duration", R"({"$ref": "#/$defs/gop"})"},
           {.meaning = "from one key frame to the next; a time is the width of a [grid](#key-frames)",
            .unit = "frames, or a time",
            .range = "1 to 100000, or 1ms to 10m",
            .scope = transcoded});
  keys.key("latency", &E::latency, {.meaning = "`low`: no frame is held back", .scope = transcoded});
  keys.key("threads", &E::threads, IntegerKey{1, 64, true},
           {.meaning = "threads of this camera's encoder; `auto`: one for 70 million pixels a second (1920×1080 at 30 "
                       "fps), with `hevc` one for 10 million; within the camera's share of its worker's cores",
            .unit = "threads",
            .scope = transcoded});
  keys.key("options", &E::options,
           ParsedKey{read_options, "map",
                     R"({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})"},
           {.meaning = "further options, by FFmpeg's names; none that names a file or has one written (such as `pass`, "
                       "`stats`, `csv` and `dump-yuv` of `x264-params` and `x265-params`, and `pass1` of `flags`)",
            .range = "the encoder's own",
            .scope = transcoded,
            .of_codec = true});
}

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

template <typename Keys>
void describe_keys(Keys& keys, Of<RecordConfig>) {
  using namespace std::chrono_literals;
  using R = RecordConfig;
  keys.key("path", &R::path, ParsedKey{read_record_path, "string", R"({"type": "string", "pattern": "\\.(mp4|mkv)$"})"},
           {.meaning = "the file. `{camera}` is the camera's name, `{output}` the output's (`main`: the camera's own "
                       "stream); `%Y`, `%m`, `%d`, `%H`, `%M`, `%S` and other fields of strftime that give no `/` are "
                       "the start's local time, `%%` is a percent sign. Folders are made as needed; no file is "
                       "overwritten, but see `overwrite`",
            .range = "ends in `.mp4` or `.mkv`",
            .fallback = required});
  keys.key("segment_duration", &R::segment_duration, DurationKey{1s, 24h, "one file"},
           {.meaning = "how much of the day a file holds: a new one begins at the first key frame after each full "
                       "multiple. `0`: one file"});
  keys.key("delete_after", &R::delete_after, DurationKey{1s, 3650 * 24h},
           {.meaning = "files of this recording that ended longer ago are deleted, or a day later after a gap of "
                       "more than 24 h (the rig was off, or the clock jumped)",
            .fallback = "never"});
  keys.key("max_size", &R::max_size, ParsedKey{read_bytes, "size", R"({"$ref": "#/$defs/size"})"},
           {.meaning = "when this recording's files are larger together, the oldest are deleted",
            .unit = "bytes",
            .range = "1M to 1000T",
            .fallback = "no limit"});
  keys.key("keep_free", &R::keep_free, ParsedKey{read_bytes, "size", R"({"$ref": "#/$defs/size"})"},
           {.meaning = "when the disk has less free space, the oldest files of this recording that together have the "
                       "missing size are deleted, but not the file that is being written",
            .unit = "bytes",
            .range = "1M to 1000T",
            .fallback = "none"});
  keys.key("overwrite", &R::overwrite,
           {.meaning = "a file of an earlier run, or of an earlier hour or day that the path calls the same, is "
                       "replaced. `false`: the new one gets a number (`-1`, `-2`, …)"});
  keys.key("when", &R::when,
           {.meaning = "`motion`: only while a filter `motion` of the camera, or of the output, sees some. With codec "
                       "`copy` it is one of that stream's own `filters`"});
  keys.key("before", &R::before, DurationKey{0s, 5min}, {.meaning = "with `when: motion`: what is kept from before"});
  // Detectors miss a frame now and then: less would cut one motion into many.
  keys.key("after", &R::after, DurationKey{1s, 1h},
           {.meaning = "with `when: motion`: how long nothing must have moved until it ends"});
}

struct SnapshotConfig {
  std::string path;  // ends in .jpg; {camera} and {output} not yet filled in; time fields are not allowed
  std::chrono::nanoseconds every = std::chrono::seconds(1);
  friend bool operator==(const SnapshotConfig&, const SnapshotConfig&) = default;
};

template <typename Keys>
void describe_keys(Keys& keys, Of<SnapshotConfig>) {
  using namespace std::chrono_literals;
  keys.key("path", &SnapshotConfig::path,
           ParsedKey{read_snapshot_path, "string", R"({"type": "string", "pattern": "^[^%]*\\.jpg$"})"},
           {.meaning = "the file; `{camera}` and `{output}` as in recordings, no time fields. It is replaced in one "
                       "step: a reader always sees a whole frame",
            .range = "ends in `.jpg`",
            .fallback = required,
            .scope = KeyScope::transcoded});
  keys.key("every", &SnapshotConfig::every, DurationKey{100ms, 1h},
           {.meaning = "how often", .scope = KeyScope::transcoded});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<PushUrl>) {
  keys.hidden("url", &PushUrl::url);
  keys.hidden("written", &PushUrl::written);
}

template <typename Keys>
void describe_keys(Keys& keys, Of<FilterConfig>) {
  keys.hidden("name", &FilterConfig::name);
  keys.hidden("parameters", &FilterConfig::parameters);
}

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

template <typename Keys>
void describe_filters(Keys& keys) {
  keys.key("filters", &StreamConfig::filters, ParsedKey{read_filters, "list", R"({"$ref": "#/$defs/filters"})"},
           {.meaning = "what is done to the frames, in this order; each `name` or `name: {parameter: value}`",
            .range = "filters, see below"});
}

// What is made of the filtered frames, and where it goes.
template <typename Keys>
void describe_targets(Keys& keys) {
  using S = StreamConfig;
  keys.section("encode", &S::encode, {.meaning = "encoding", .fallback = "see below"});
  keys.section("record", &S::record, {.meaning = "recording", .fallback = "no recording"});
  keys.key("push", &S::push, ParsedKey{read_push, "list", R"({"$ref": "#/$defs/push"})"},
           {.meaning = "where the encoded stream is sent. A target that cannot be reached is tried again for ever and "
                       "holds nothing up. `rtsps` and `rtmps` encrypt, but do not check the target's certificate",
            .range = "up to 8 URLs of `rtsp`, `rtsps`, `srt`, `udp`, `rtmp` or `rtmps`"});
  keys.section("snapshot", &S::snapshot, {.meaning = "the newest frame as a file", .fallback = "none"});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<StreamConfig>) {
  using S = StreamConfig;
  keys.hidden("name", &S::name);
  describe_filters(keys);
  keys.key(
      "rate", &S::rate, NumberKey{0, 1000},
      {.meaning = "at most so many are encoded; 0: all", .unit = "frames a second", .scope = KeyScope::transcoded});
  describe_targets(keys);
  keys.hidden("on_demand", &S::on_demand);
  keys.hidden("group", &S::group);
}

// What is made of a camera's frames besides its own stream, in the same worker, from the same decoder. Its name is not
// "main", which is the camera's own.
struct OutputConfig : StreamConfig {
  friend bool operator==(const OutputConfig&, const OutputConfig&) = default;
};

template <typename Keys>
void describe_keys(Keys& keys, Of<OutputConfig>) {
  describe_keys(keys, Of<StreamConfig>());
}

// An output as it is run, with the filters that it takes of its camera. A camera's own stream is its output "main".
struct ResolvedOutput : StreamConfig {
  std::string camera;           // for {camera}: the camera's name
  std::string output = "main";  // for {output}
  std::string node = {};        // of a cluster, which records it and is named by its files; empty: there is none
  friend bool operator==(const ResolvedOutput&, const ResolvedOutput&) = default;
};

template <typename Keys>
void describe_keys(Keys& keys, Of<ResolvedOutput>) {
  describe_keys(keys, Of<StreamConfig>());
  keys.hidden("camera", &ResolvedOutput::camera);
  keys.hidden("output", &ResolvedOutput::output);
  keys.hidden("node", &ResolvedOutput::node);
}

}  // namespace campipe
