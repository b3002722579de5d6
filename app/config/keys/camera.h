// The keys of a camera.
#pragma once

#include <chrono>

#include "app/config/camera_config.h"
#include "app/config/key.h"
#include "app/config/keys/stream.h"
#include "app/config/values.h"

namespace campipe {

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
  keys.key(
      "timestamps", &C::timestamps,
      {.meaning = "of a live source: by what frames and sound lie where they do in time. `camera`: by the "
                  "timestamps that the source sends, as long as its [clock](reliability.md#timestamps-or-clocks-are-"
                  "wrong) can be used; `arrival`: by when they arrive, their time of day too. HLS keeps the times "
                  "of its pieces, and its time of day is that of `EXT-X-PROGRAM-DATE-TIME`, where a live playlist has "
                  "it"});
  keys.key("use_absolute_timestamp", &C::use_absolute_timestamp,
           {.meaning = "with `timestamps: camera`, which time of day frames have. `true`: files' creation times, the "
                       "index and the overlay of times have the time at which the "
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
           {.meaning =
                "when the worker, or the disk behind it, is late: lose frames, or make the source wait. "
                "`auto`: `drop` for live sources, `block` for files and test patterns, which can wait: at "
                "`pace: realtime` they then [fall behind](operations.md#find-out-why-frames-are-dropped-or-late). Set "
                "`drop` for those that stand for cameras",
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
