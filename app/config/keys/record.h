// The keys of `record` and `snapshot`.
#pragma once

#include <chrono>

#include "app/config/key.h"
#include "app/config/stream_config.h"
#include "app/config/values.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<RecordConfig>) {
  using namespace std::chrono_literals;
  using R = RecordConfig;
  keys.key("path", &R::path, ParsedKey{read_record_path, "string", R"({"type": "string", "pattern": "\\.(mp4|mkv)$"})"},
           {.meaning = "the file. `{camera}` is the camera's name, `{output}` the output's (`main`: the camera's own "
                       "stream); `%Y`, `%m`, `%d`, `%H`, `%M`, `%S` and other fields of strftime that give no `/` are "
                       "the local time at which its first frame was taken, `%%` is a percent sign. Folders are made as "
                       "needed; no file is overwritten, but see `overwrite`",
            .range = "ends in `.mp4` or `.mkv`",
            .fallback = required});
  keys.key("segment_duration", &R::segment_duration, DurationKey{1s, 24h, "one file"},
           {.meaning = "how much of the day a file holds: a new one begins at the first key frame that was taken after "
                       "each full multiple. `0`: one file"});
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
           {.meaning = "when the disk has less free space, the oldest files of all recordings on it that have this "
                       "key are deleted, until as much is free as the largest of them says, but not the files that are "
                       "being written",
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
  keys.key(
      "after", &R::after, DurationKey{1s, 1h},
      {.meaning =
           "how long nothing must have moved until a motion is over: in the [events](operations.md#read-the-events-of-"
           "motion), and of a file with `when: motion`"});
}

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

}  // namespace campipe
