// A camera: its values, and beside them the description of their keys.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/config/cluster_config.h"
#include "app/config/mosaic_config.h"
#include "app/config/stream_config.h"
#include "core/frame.h"
#include "stages/sources/source.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<CaptureConfig>) {
  using C = CaptureConfig;
  constexpr KeyScope devices = KeyScope::devices;
  keys.key("width", &C::width, IntegerKey{16, 16384},
           {.meaning = "width of the frames", .unit = "samples", .fallback = "the device's", .scope = devices});
  keys.key("height", &C::height, IntegerKey{16, 16384},
           {.meaning = "their height", .unit = "samples", .fallback = "the device's", .scope = devices});
  keys.key("rate", &C::rate, NumberKey{0.1, 1000},
           {.meaning = "how many it takes; of numbered pictures, too",
            .unit = "frames a second",
            .fallback = "the device's; 25 for numbered pictures",
            .scope = KeyScope::rates});
  keys.key("format", &C::format,
           ParsedKey{read_capture_format, "string", R"({"type": "string", "pattern": "^[a-z0-9_]+$"})"},
           {.meaning = "what it delivers",
            .range = "FFmpeg's name of a pixel format or codec: `yuyv422`, `mjpeg`",
            .fallback = "the device's",
            .scope = devices});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<SourceConfig>) {
  using namespace std::chrono_literals;
  using S = SourceConfig;
  keys.key("source", &S::url, ParsedKey{read_source, "string", R"({"type": "string", "minLength": 1})"},
           {.meaning = "where the frames come from", .range = "see [sources](#sources)", .fallback = required});
  keys.hidden("written", &S::written);
  keys.key("stream", &S::stream, IntegerKey{0, 63},
           {.meaning = "which of the source's video streams, counted from 0", .fallback = "the best"});
  keys.key("audio", &S::audio,
           {.meaning = "`copy`: recordings, push targets and [live streams for players](operations.md#watch) get the "
                       "source's audio, as it is, where the container holds it. It is never encoded anew"});
  keys.key("rtsp_transport", &S::rtsp_transport,
           {.meaning = "`automatic`: UDP, and TCP where that does not work. `rtsps` is always TCP",
            .scope = KeyScope::rtsp});
  keys.key("allow_redirects", &S::allow_redirects,
           {.meaning = "`true`: what an `http`, `https`, `rtsp` or `rtsps` server answers may lead to another scheme, "
                       "host or port: redirects, and the pieces and keys that an HLS playlist names. Without it, a "
                       "camera that was taken over cannot make campipe ask others in the network",
            .scope = KeyScope::servers});
  keys.group("tls", {.meaning = "of `rtsps` and `https`", .fallback = "see below"}, [](auto& tls) {
    tls.key("verify", &S::verify_certificate,
            {.meaning = "the certificate must be good, and of that host", .scope = KeyScope::tls});
    tls.key("ca_file", &S::ca_file, ParsedKey{read_ca_file, "string", R"({"type": "string", "minLength": 1})"},
            {.meaning = "the certificates of those who may have signed it",
             .range = "a file (PEM)",
             .fallback = "the system's",
             .scope = KeyScope::tls});
  });
  keys.section("capture", &S::capture, {.meaning = "what a capture device is asked for", .fallback = "see below"});
  keys.key("read_timeout", &S::read_timeout, DurationKey{100ms, 10min},
           {.meaning = "how long a live source may be silent, or take to be connected to, before it counts as lost: "
                       "the connection is then given up and made again. A shorter silence costs nothing but its "
                       "frames; what the camera still sends of them is recorded. No silence, however long, restarts a "
                       "process or stops the camera for good"});
  keys.key("loop", &S::loop,
           {.meaning = "at the end of a file, begin again: where its video ends, or its audio, if that lasts up to a "
                       "second longer. Audio before the first frame is left out",
            .scope = KeyScope::files});
  keys.key(
      "pace", &S::pace,
      {.meaning = "a file is read at the pace of its timestamps, or as fast as it goes", .scope = KeyScope::files});
}

// Where the stages of a camera's own stream run.
struct StagePlacement {
  std::string decode = "auto";          // auto, cpu, or a GPU
  std::vector<std::string> filter;      // cpu, cpu:N, or a GPU, of all filters or of each; none: where it is encoded
  std::string encode = "auto";          // likewise
  std::vector<std::string> tiles = {};  // by tile: a place for each, or auto; none: by stage
  friend bool operator==(const StagePlacement&, const StagePlacement&) = default;
};
// "cpu:1": the number of a worker on the CPU.
std::optional<unsigned> cpu_worker_of(const std::string& place);

template <typename Keys>
void describe_keys(Keys& keys, Of<StagePlacement>) {
  using S = StagePlacement;
  keys.key(
      "decode", &S::decode, ParsedKey{read_gpu_name, "choice, integer or string", R"({"$ref": "#/$defs/gpu"})"},
      {.meaning = "what decodes. `auto`: the GPU of the first filter, if it can", .range = "as the camera's `gpu`"});
  keys.key("filter", &S::filter, ParsedKey{read_stage_places, "list", R"({"$ref": "#/$defs/places"})"},
           {.meaning = "what runs the camera's filters: one place for all of them, or one for each. `cpu:1` is the "
                       "second of the workers on the CPU, `cpu` any of them",
            .range = "`cpu`, `cpu:0` to `cpu:14`, a GPU's index or UUID",
            .fallback = "where it is encoded",
            .excludes = "placement.tiles"});
  keys.key(
      "encode", &S::encode, ParsedKey{read_stage_place, "choice, integer or string", R"({"$ref": "#/$defs/place"})"},
      {.meaning =
           "what encodes. `auto`: where the last filter runs, or the first tile; without filters as the camera's `gpu`",
       .range = "`auto`, or as a place of `filter`"});
  keys.key(
      "tiles", &S::tiles, ParsedKey{read_tiles, "list or integer", R"({"$ref": "#/$defs/tiles"})"},
      {.meaning = "[by tile](placement.md#by-tile): so many places filter a part of each frame, all of them GPUs or "
                  "all on the CPU; each `cpu` is one more worker. A number leaves the choice to campipe. It is "
                  "encoded where the first one is, unless `encode` says where",
       .range = "1 to 8, or a list of as many places of `filter`",
       .fallback = "none",
       .excludes = "placement.filter"});
}

enum class DropPolicy : std::uint8_t { drop, block };
enum class OnCorrupt : std::uint8_t { show, skip };
// Whether a camera is decoded in a process of its own: automatic: once its stream has brought down another one.
enum class DecodeIsolation : std::uint8_t { automatic, always, never };

// A field for each key. A mosaic is one, too: a stream with all that a camera has but for its source.
struct CameraConfig : StreamConfig {
  SourceConfig source;
  std::optional<MosaicConfig> mosaic;          // in place of the source, which is then empty
  std::string gpu = "auto";                    // auto, cpu, or a GPU's index or UUID
  std::optional<StagePlacement> placement;     // by stage; none: all on `gpu`
  std::optional<MemoryKind> ipc_memory;        // of a ring that a GPU fills; none: auto
  std::optional<ReadySignal> ready_signal;     // likewise
  DropPolicy drop_policy = DropPolicy::block;  // `auto` is resolved when loading: live sources drop
  int queue_size = 8;                          // frames that may wait for the worker
  int decode_threads = 1;
  std::string decode_gpu = "auto";  // like gpu; auto: the same GPU
  DecodeIsolation decode_isolation = DecodeIsolation::automatic;
  bool for_browsers = false;  // where it sends what they do not play, it has one more output; see resolved()
  std::vector<OutputConfig> outputs;
  std::chrono::nanoseconds retry_interval = std::chrono::seconds(1);  // until a live source is opened again; doubles
  std::chrono::nanoseconds retry_max = std::chrono::seconds(30);
  OnCorrupt on_corrupt = OnCorrupt::show;
  bool use_absolute_timestamp = true;  // frames carry the camera's own time, if its clock can be right
  int priority = 50;                   // 0 to 100: who gives way first
  OnPartition on_partition = OnPartition::keep;
  bool enabled = true;  // false: it has its place in the rig, and nothing of it runs
  friend bool operator==(const CameraConfig&, const CameraConfig&) = default;
};

bool read_outputs(const YamlNode& node, Given<CameraConfig>& camera, Report& report);

template <typename Keys>
void describe_keys(Keys& keys, Of<CameraConfig>) {
  using namespace std::chrono_literals;
  using C = CameraConfig;
  keys.inlined(&C::source);
  keys.key("retry_interval", &C::retry_interval, DurationKey{100ms, 1h},
           {.meaning = "until a live source is opened again; doubles each time, with some jitter"});
  keys.key("retry_max", &C::retry_max, DurationKey{100ms, 24h},
           {.meaning = "the longest such wait, and the first one where the source refuses the password or is not there",
            .range = "`retry_interval` to 24h"});
  keys.key("enabled", &C::enabled,
           {.meaning = "`false`: the camera stays in the rig, but does not run until it is enabled"});
  keys.key(
      "priority", &C::priority, IntegerKey{0, 100},
      {.meaning = "where a device has too much to do, cameras of a lower priority than others there "
                  "[give way](operations.md#priorities): step by step they have fewer frames, smaller ones, none, "
                  "and all again once there is time. Members of a group and mosaics do not. With the same priority "
                  "for all nobody gives way"});
  keys.key(
      "on_partition", &C::on_partition,
      {.meaning = "in a [cluster](#cluster): what becomes of the camera where its node is cut off, so that another "
                  "one may run it as well. `keep`: it is recorded on both, and nobody loses anything; `stop`: it "
                  "is stopped before the other begins"});
  keys.key("on_corrupt", &C::on_corrupt,
           {.meaning = "frames that are damaged are shown as they are, or dropped and counted"});
  keys.key("use_absolute_timestamp", &C::use_absolute_timestamp,
           {.meaning = "`true`: files' creation times, the index and the overlay of times have the time at which the "
                       "camera took the frame (RTCP sender reports), if its clock is within 10 s of the machine's; "
                       "`false`: they have the time at which the frame arrived"});
  keys.key("gpu", &C::gpu, ParsedKey{read_gpu_name, "choice, integer or string", R"({"$ref": "#/$defs/gpu"})"},
           {.meaning = "where the camera is decoded, filtered and, if that GPU can, encoded. `auto`: the GPU with the "
                       "least to do, or the CPU where there is none",
            .range = "`auto`, `cpu`, or a GPU's index or UUID (`GPU-…`, `MIG-…`) as `campipe --devices` prints them"});
  keys.section("placement", &C::placement,
               {.meaning = "decoding, filters and encoding on [devices of their own](placement.md#by-stage), for the "
                           "camera's own stream; its other outputs are made where its first filter runs",
                .fallback = "all where `gpu` says"});
  keys.key("ipc_memory", &C::ipc_memory,
           {.meaning = "the memory of a ring that a GPU fills. `auto`: of `cuda_vmm`, `cuda_legacy` and `host` the "
                       "one that the second GPU reads fastest from the first, as measured at the start; one that is "
                       "named must work. Rings that the CPU fills are "
                       "`host`"});
  keys.key("ready_signal", &C::ready_signal,
           {.meaning = "how a GPU that fills a ring signals the one that reads it. `auto`: `ipc_event`"});
  keys.key("drop_policy", &C::drop_policy,
           ParsedKey{read_drop_policy, "choice", R"({"enum": ["auto", "drop", "block"]})"},
           {.meaning = "when the worker, or the disk behind it, is late: lose frames, or make the source wait. "
                       "`auto`: `drop` for live sources, `block` for files and test patterns, which can wait",
            .fallback = "`auto`"});
  keys.key("queue_size", &C::queue_size, IntegerKey{1, 32},
           {.meaning = "how many may wait for the worker", .unit = "frames"});
  keys.group("decode", {.meaning = "decoding", .fallback = "see below"}, [](auto& decode) {
    decode.key("threads", &C::decode_threads, IntegerKey{1, 16},
               {.meaning = "threads of this camera's decoder on the CPU", .unit = "threads"});
    decode.key("gpu", &C::decode_gpu,
               ParsedKey{read_gpu_name, "choice, integer or string", R"({"$ref": "#/$defs/gpu"})"},
               {.meaning = "which GPU's hardware decodes. `auto`: that of the camera; what it cannot decode is decoded "
                           "on the CPU. With `gpu: cpu` the camera is decoded on the CPU too",
                .range = "as the camera's `gpu`"});
    decode.key("isolation", &C::decode_isolation,
               {.meaning = "whether the camera is decoded [apart from the others](operations.md#quarantine). `auto`: "
                           "from the first time on that its stream crashes or hangs the process that decodes it; "
                           "`always`: at once; `never`: not at all. Eight cameras have such a process of their own; "
                           "further ones share the last. Files of a group are decoded together"});
  });
  describe_keys(keys, Of<StreamConfig>());
  keys.entries("outputs", &C::outputs, read_outputs, R"({"$ref": "#/$defs/outputs"})",
               {.meaning = "what else is made of the frames: an output's name, as a camera's but not `main`, and its "
                           "keys",
                .range = "up to 4 outputs",
                .fallback = "none"});
  keys.hidden("for_browsers", &C::for_browsers);
  keys.hidden("mosaic", &C::mosaic);
}

}  // namespace campipe
