// Frame accounting (docs/architecture.md): decoded = frames in the frame rings of sources + unpublished; encoded =
// packets in packet rings; repeated: frames that were encoded again, to fill a set of their camera's group. What is
// left when nothing can be in flight has been lost, and is entered under its cause by settle(). What is passed on as it
// came is neither decoded nor encoded: there, both are the packets.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/supervisor/rig/camera.h"
#include "ipc/counters.h"
#include "ipc/drop_counters.h"
#include "ipc/latencies.h"

namespace campipe {

class RigPage;

struct FrameCounts {
  std::uint64_t decoded = 0;
  std::uint64_t repeated = 0;
  std::uint64_t encoded = 0;
  std::map<std::string, std::uint64_t> dropped;  // by cause, without zeros
  std::uint64_t dropped_total = 0;
  std::uint64_t recorded = 0;
  std::uint64_t unrecorded = 0;  // should be in a file, and never will be

  [[nodiscard]] std::uint64_t dropped_for(DropCause cause) const;
};

// As MotionBlock's.
struct MotionTotals {
  float threshold = 0;
  float largest = 0;
};

// Sets of a synchronised group about which a member has decided: those of all members together are the group's.
struct SetTotals {
  std::string group;  // empty: it was in none
  std::uint64_t encoded = 0;
  std::uint64_t dropped = 0;
  std::uint64_t out_of_tolerance = 0;
};

// What an output has counted. One that goes on under its name, when its camera is changed, disabled or enabled, gets
// ids, rings and counters of its own; what its predecessors counted is added wherever counters are shown.
struct OutputTotals {
  FrameCounts counts;
  Latencies latencies;
  CounterTotals counters;
  MotionTotals motion;
  SetTotals sets;
  bool recording_on = true;  // was asked last
};
// Of a camera's outputs, by their names.
using TotalsByName = std::map<std::string, std::shared_ptr<const OutputTotals>>;

// A consistent reading: decoded + repeated ≥ encoded + dropped; the difference is in flight. What was counted before
// under its name is in it. `output` is one of `camera`'s.
FrameCounts count(const Camera& camera, const Output& output, const RigPage& page);
// Of what is shown for the output; with the camera's own stream is also what is shown for the camera.
CounterTotals counters_of(const Camera& camera, const Output& output, const RigPage& page);
OutputTotals totals_of(const Camera& camera, const Output& output, const RigPage& page);
Latencies latencies_of(const Camera& camera, const Output& output, const RigPage& page);
HistogramCounts latency_of(const Camera& camera, const Output& output, const RigPage& page);  // arrival → encoded
float motion_score_of(const Camera& camera, const Output& output, const RigPage& page);
// Of an output without a filter for it, nothing.
MotionTotals motion_of(const Camera& camera, const Output& output, const RigPage& page);
bool has_motion(const StreamConfig& config);
// It looks for motion by a filter of its own, or is recorded by it: it has events. What a filter of the camera finds is
// reported by the camera's own stream, and not by each output that takes its frames.
bool reports_motion(const Camera& camera, const Output& output);
// Of an output in its present group.
SetTotals sets_of(const Camera& camera, const Output& output, const RigPage& page);

// The number of the newest frame that there can be for the node: as its input counts them; of a join's, by the
// source's; of a mosaic's, by its clock.
std::uint64_t newest_frame(const Camera& camera, const CameraNode& node, const RigPage& page);

struct LostFrames {
  std::string name;  // of what they were for
  std::uint64_t number = 0;
};
// Enters what came to the node, and is in no ring behind it and not dropped, under `cause`. Only when nothing can be in
// flight there: in + repeated = out + Σ dropped.
std::vector<LostFrames> settle_node(const Camera& camera, const CameraNode& node, const RigPage& page, DropCause cause);
// Likewise of a node whose worker is gone; the log says what was lost.
void settle_lost(const Camera& camera, const CameraNode& node, const RigPage& page);
// Of what the node makes: what is in its rings, or dropped; repeated frames apart. The largest of all of them.
std::uint64_t accounted_at(const Camera& camera, const CameraNode& node, const RigPage& page);
// Likewise at all of its nodes.
void settle(const Camera& camera, const RigPage& page, DropCause cause);

// What was dropped behind the source's edge on the way to an encoded output, by cause. Only when nothing is in flight
// there.
using DropsByCause = std::array<std::uint64_t, max_drop_causes>;
DropsByCause dropped_behind_source(const Camera& camera, const Output& output, const RigPage& page);
void replace_dropped(DropCounters& counters, const DropsByCause& drops);

// Counts packets that no publisher has dealt with as unrecorded, where they should have been recorded. Only when there
// is no publisher any more. Returns how many that were.
std::uint64_t settle_recording(const Output& output, const RigPage& page);

}  // namespace campipe
