// The keys of the file itself.
#pragma once

#include "app/config/key.h"
#include "app/config/rig_config.h"
#include "app/config/values.h"

namespace campipe {

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
                       "ends, recorded or not; no link or pipe",
            .range = "a path",
            .fallback = "`events.jsonl`, where a camera has the filter `motion`"});
  keys.key("umask", &R::umask, ParsedKey{read_umask, "string", R"({"$ref": "#/$defs/umask"})"},
           {.meaning = "which permissions files and folders that campipe makes do not have, in octal. `0022` lets "
                       "every user of the machine see recordings and snapshots",
            .range = "`0000` to `0077`",
            .fallback = "as it is started, and at least `0027`"});
  keys.key("mps", &R::mps, ParsedKey{read_mps, "choice", R"({"enum": ["off", "use"]})"},
           {.meaning = "`use`: the processes share the GPUs through NVIDIA's MPS daemon; no GPU is used as long as "
                       "that does not run "
                       "([costs](operations.md#gpus)); `off`: campipe does not join a daemon that runs"});
  keys.section("cluster", &R::cluster,
               {.meaning = "several machines that run one rig, of which this one is a node", .fallback = "no cluster"});
  keys.inlined(&R::server);
}

}  // namespace campipe
