#include "app/supervisor/accounting.h"

#include <algorithm>

#include "app/control/record_state.h"

namespace campipe {
namespace {

std::uint64_t load(const DropCounters& counters, DropCause cause) {
  return counters[static_cast<std::size_t>(cause)].load();
}

// Where the frames of an output were left. On the camera's edge the master counts for all outputs: frames that it did
// not publish, and those that it took back from the worker's queue. The worker counts what it left out of each output;
// of packets that are passed on the master counts what the publisher did not take, and nothing else is theirs.
struct Drops {
  bool copy;
  const CopyBlock& passed_on;
  const EdgeWriterBlock& edge;
  const EncodeBlock& encoded;

  [[nodiscard]] std::uint64_t unpublished(DropCause cause) const {
    return load(copy ? passed_on.unpublished : edge.unpublished, cause);
  }
  [[nodiscard]] std::uint64_t dropped(DropCause cause) const {
    return copy ? 0 : load(edge.dropped, cause) + load(encoded.dropped, cause);
  }
};

Drops drops_of(const Camera& camera, const Output& output, const RigPage& page) {
  return {output.is_copy(), page.copy(output.id), page.edge_writer(camera.frames.edge),
          page.encode(output.id, camera.worker_id())};
}

bool is_shown_for(const CounterInfo& info, const Output& output) {
  if (info.shown_for == ShownFor::camera) return output.is_own();
  return info.scope == Scope::output || !output.is_copy();
}

// In all processes' blocks.
std::uint64_t sum_of(const CounterInfo& info, const Camera& camera, const Output& output, const RigPage& page) {
  const ProcessId worker = camera.worker_id();
  std::uint64_t sum = 0;
  switch (info.scope) {
    case Scope::source:
      return page.source(camera.id).counters.of(info.counter);
    case Scope::edge:
      return page.edge_writer(camera.frames.edge).counters.of(info.counter) +
             page.edge_reader(camera.frames.edge, worker).counters.of(info.counter);
    case Scope::node:
      for (const CameraNode& node : camera.worker.nodes) sum += page.node(node.id, worker).counters.of(info.counter);
      return sum;
    case Scope::output:
      return page.copy(output.id).counters.of(info.counter) + page.encode(output.id, worker).counters.of(info.counter) +
             page.publish(output.id).counters.of(info.counter);
  }
  return sum;
}

const MotionBlock& motion_block(const Camera& camera, const Output& output, const RigPage& page) {
  if (output.is_copy()) return page.copy(output.id).motion;
  return page.encode(output.id, camera.worker_id()).motion;
}

void add(FrameCounts& counts, const FrameCounts& before) {
  counts.decoded += before.decoded;
  counts.encoded += before.encoded;
  for (const auto& [cause, number] : before.dropped) counts.dropped[cause] += number;
  counts.dropped_total += before.dropped_total;
  counts.recorded += before.recorded;
  counts.unrecorded += before.unrecorded;
}

}  // namespace

FrameCounts count(const Camera& camera, const Output& output, const RigPage& page) {
  FrameCounts counts;
  const Drops drops = drops_of(camera, output, page);
  const RecordState& record = page.publish(output.id).record;
  // Later stages first, so that a frame on its way is never seen at its end and not at its beginning.
  const auto progress = load_record_progress(record);
  counts.recorded = progress ? progress->recorded : 0;
  counts.unrecorded = progress ? progress->unrecorded : 0;
  counts.encoded = output.packets_published();
  std::uint64_t unpublished = 0;
  for (std::size_t i = 0; i < drop_causes; ++i) {
    const auto cause = static_cast<DropCause>(i);
    const std::uint64_t early = drops.unpublished(cause);
    const std::uint64_t late = drops.dropped(cause);
    unpublished += early;
    counts.dropped_total += early + late;
    if (early + late > 0) counts.dropped[name_of(cause)] = early + late;
  }
  counts.decoded = (drops.copy ? counts.encoded : camera.frames.published()) + unpublished;
  if (output.before) add(counts, output.before->counts);
  return counts;
}

CounterTotals counters_of(const Camera& camera, const Output& output, const RigPage& page) {
  CounterTotals totals;
  for (const CounterInfo& info : counter_table) {
    if (!is_shown_for(info, output)) continue;
    totals[info.counter] = sum_of(info, camera, output, page) + camera.counted[info.counter];
    if (output.before) totals[info.counter] += output.before->counters[info.counter];
  }
  return totals;
}

OutputTotals totals_of(const Camera& camera, const Output& output, const RigPage& page) {
  return {count(camera, output, page), latencies_of(camera, output, page), counters_of(camera, output, page),
          motion_of(camera, output, page), output.recording.on};
}

float motion_score_of(const Camera& camera, const Output& output, const RigPage& page) {
  return motion_block(camera, output, page).score;
}

MotionTotals motion_of(const Camera& camera, const Output& output, const RigPage& page) {
  if (!has_motion(output.config)) return {};
  const MotionBlock& newest = motion_block(camera, output, page);
  const MotionTotals before = output.before ? output.before->motion : MotionTotals{};
  const float threshold = newest.threshold;
  return {threshold != 0 ? threshold : before.threshold, std::max(newest.largest.load(), before.largest)};
}

bool has_motion(const StreamConfig& config) {
  return std::ranges::any_of(config.filters, [](const FilterConfig& filter) { return filter.name == "motion"; });
}

HistogramCounts latency_of(const Camera& camera, const Output& output, const RigPage& page) {
  HistogramCounts latency = output.is_copy() ? page.copy(output.id).latency.counts()
                                             : page.encode(output.id, camera.worker_id()).latency.counts();
  if (output.before) latency.add(output.before->latencies.total);
  return latency;
}

Latencies latencies_of(const Camera& camera, const Output& output, const RigPage& page) {
  Latencies latencies;
  if (!output.is_copy()) {
    const EncodeBlock& block = page.encode(output.id, camera.worker_id());
    latencies.decode = page.source(camera.id).decode.counts();
    latencies.queue = page.edge_reader(camera.frames.edge, camera.worker_id()).queue.counts();
    latencies.filter = block.filter.counts();
    latencies.encode = block.encode.counts();
    latencies.overhead = block.overhead.counts();
  }
  if (output.before) latencies.add(output.before->latencies);
  latencies.total = latency_of(camera, output, page);
  return latencies;
}

std::uint64_t settle(const Camera& camera, const Output& output, const RigPage& page, DropCause cause) {
  const Drops drops = drops_of(camera, output, page);
  if (drops.copy) return 0;
  std::uint64_t accounted = output.packets_published();
  for (std::size_t i = 0; i < drop_causes; ++i) accounted += drops.dropped(static_cast<DropCause>(i));
  const std::uint64_t published = camera.frames.published();
  if (published <= accounted) return 0;
  counter(page.encode(output.id, camera.worker_id()).dropped, cause).fetch_add(published - accounted);
  return published - accounted;
}

std::uint64_t settle_recording(const Output& output, const RigPage& page) {
  const auto& record = output.config.record;
  if (!record || record->when == RecordWhen::motion || !output.recording.on) return 0;
  RecordState& state = page.publish(output.id).record;
  const auto progress = load_record_progress(state);
  const std::uint64_t dealt_with = progress ? progress->number : 0;
  const std::uint64_t published = output.packets_published();
  if (published <= dealt_with) return 0;
  store_unrecorded(state, published, published - dealt_with);
  return published - dealt_with;
}

}  // namespace campipe
