// What a rig counts, in one table. Totals over a camera's predecessors, report, status, metrics, the API's description
// and the table in docs/operations.md (written by tools/config-tables) all derive from it; the rig page has room for
// max_counters (ipc/counters.h). A new counter is a value of Counter, its row below, and a line
// `counters.add(Counter::…)` where it is counted.
//
// What sees this header is compiled again for each new counter, so no other header includes it: who only passes a
// Counter on needs no more of it than ipc/counters.h declares.
//
// Frames that were dropped have a table of their own (ipc/drop_causes.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/counters.h"

namespace campipe {

enum class Counter : std::uint8_t {
  corrupt_packets,
  times_missing,  // these five: see Correction
  times_repeated,
  times_backwards,
  times_jumped,
  times_stopped,
  converted,
  repeated,
  set_slips,
  bytes,
  motions,
  reconnects,
  worker_restarts,
  moves,
};

// Of what it is counted. Each process counts in the blocks of its own page (ipc/rig_page.h); all of them are added up.
enum class Scope : std::uint8_t { source, edge, node, output };

// Where it is shown: with the camera, or with each of its outputs. With those that are passed on as they came only what
// is counted of the output itself: they have no part in the rest.
enum class ShownFor : std::uint8_t { camera, output };

struct CounterInfo {
  Counter counter;
  Scope scope;
  ShownFor shown_for;
  const char* path;    // in the report; in the status see path_in_status()
  const char* unit;    // of what it counts
  const char* metric;  // for Prometheus, with the labels `camera` and, of outputs, `output`
  const char* label;   // a further one, "kind"; empty: none
  const char* value;   // of that label
  const char* meaning;
};

// In the order of the enumeration.
inline constexpr std::array counter_table{
    CounterInfo{Counter::corrupt_packets, Scope::source, ShownFor::camera, "/source/corrupt_packets", "packets",
                "campipe_source_corrupt_packets_total", "", "", "Packets that were damaged or could not be decoded."},
    CounterInfo{Counter::times_missing, Scope::source, ShownFor::camera, "/source/timestamps_corrected/missing",
                "timestamps", "campipe_source_timestamps_corrected_total", "kind", "missing",
                "Timestamps of the source that were corrected."},
    CounterInfo{Counter::times_repeated, Scope::source, ShownFor::camera, "/source/timestamps_corrected/repeated",
                "timestamps", "campipe_source_timestamps_corrected_total", "kind", "repeated",
                "Timestamps of the source that were corrected."},
    CounterInfo{Counter::times_backwards, Scope::source, ShownFor::camera, "/source/timestamps_corrected/backwards",
                "timestamps", "campipe_source_timestamps_corrected_total", "kind", "backwards",
                "Timestamps of the source that were corrected."},
    CounterInfo{Counter::times_jumped, Scope::source, ShownFor::camera, "/source/timestamps_corrected/jumped",
                "timestamps", "campipe_source_timestamps_corrected_total", "kind", "jumped",
                "Timestamps of the source that were corrected."},
    CounterInfo{Counter::times_stopped, Scope::source, ShownFor::camera, "/source/timestamps_corrected/stopped",
                "timestamps", "campipe_source_timestamps_corrected_total", "kind", "stopped",
                "Timestamps of the source that were corrected."},
    CounterInfo{Counter::converted, Scope::source, ShownFor::output, "/frames/converted", "frames",
                "campipe_frames_total", "stage", "converted",
                "Frames that the decoder could not write into the ring itself."},
    CounterInfo{Counter::repeated, Scope::output, ShownFor::output, "/frames/repeated", "frames",
                "campipe_frames_total", "stage", "repeated",
                "Frames that a member of a synchronised group encoded again, since it had none for a set."},
    CounterInfo{Counter::set_slips, Scope::source, ShownFor::camera, "/source/set_slips", "times",
                "campipe_source_set_slips_total", "", "",
                "Times that the frames of a member of a synchronised group have come to lie nearer to the next set."},
    CounterInfo{Counter::bytes, Scope::output, ShownFor::output, "/bytes", "bytes", "campipe_encoded_bytes_total", "",
                "", "Bytes of encoded frames."},
    CounterInfo{Counter::motions, Scope::output, ShownFor::output, "/motion/events", "motions",
                "campipe_motion_events_total", "", "", "Times that motion has begun."},
    CounterInfo{Counter::reconnects, Scope::source, ShownFor::camera, "/reconnects", "times",
                "campipe_source_reconnects_total", "", "", "Times that the source was opened again."},
    CounterInfo{Counter::worker_restarts, Scope::node, ShownFor::camera, "/worker_restarts", "times",
                "campipe_camera_worker_restarts_total", "", "", "Times that the camera's worker was started again."},
    CounterInfo{Counter::moves, Scope::node, ShownFor::camera, "/moves", "times", "campipe_camera_moves_total", "", "",
                "Times that the camera's work has gone over to another worker."},
};
static_assert(counter_table.size() <= max_counters);
static_assert(std::ranges::all_of(counter_table, [](const CounterInfo& info) {
  return &info == &counter_table[static_cast<std::size_t>(info.counter)];
}));

// The status has the camera's address as `source`, and what the report has there as `source_health`.
inline std::string path_in_status(const CounterInfo& info) {
  constexpr std::string_view source = "/source/";
  const std::string path = info.path;
  return path.starts_with(source) ? "/source_health/" + path.substr(source.size()) : path;
}

}  // namespace campipe
