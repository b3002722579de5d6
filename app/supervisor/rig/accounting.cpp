#include "app/supervisor/rig/accounting.h"

#include <algorithm>
#include <ranges>

#include "app/config/camera_config.h"
#include "app/control/record_state.h"
#include "core/clock.h"
#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/decode_blocks.h"
#include "ipc/drop_sum.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/node_block.h"
#include "ipc/publish_block.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"

namespace campipe {
namespace {

std::uint64_t load(const DropCounters& counters, DropCause cause) {
  return counters[static_cast<std::size_t>(cause)].load();
}

const EdgeWriterBlock& writer_block(const Camera& camera, const CameraEdge& edge, const RigPage& page) {
  return page.edge_writer(edge.id, camera.writer_of(edge));
}

const DecodeBlock& decode_block(const Camera& camera, const RigPage& page) {
  return page.decode(camera.id, camera.decoding.process);
}

const TickClock& clock_of(const Camera& mosaic, const RigPage& page) {
  const CameraNode& node = mosaic.nodes.front();
  return page.node(node.id, node.process()).clock;
}

const EncodeBlock& encode_block(const Camera& camera, const Output& output, const RigPage& page) {
  return page.encode(output.id, camera.encoder_of(output).process());
}

bool is_shown_for(const CounterInfo& info, const Output& output) {
  if (info.shown_for == ShownFor::camera) return output.is_own();
  return info.scope == Scope::output || !output.is_copy();
}

// In all processes' blocks.
std::uint64_t sum_of(const CounterInfo& info, const Camera& camera, const Output& output, const RigPage& page) {
  std::uint64_t sum = 0;
  switch (info.scope) {
    case Scope::source:
      return page.source(camera.id).counters.of(info.counter) + decode_block(camera, page).counters.of(info.counter);
    case Scope::edge:
      for (const CameraEdge& edge : camera.edges) {
        if (edge.cell) continue;
        sum += writer_block(camera, edge, page).counters.of(info.counter);
        for (const EdgeReader& reader : edge.readers)
          sum += page.edge_reader(edge.id, reader.process).counters.of(info.counter);
      }
      return sum;
    case Scope::node:
      for (const CameraNode& node : camera.nodes) sum += page.node(node.id, node.process()).counters.of(info.counter);
      return sum;
    case Scope::output:
      return page.copy(output.id).counters.of(info.counter) +
             encode_block(camera, output, page).counters.of(info.counter) +
             page.publish(output.id).counters.of(info.counter);
  }
  return sum;
}

const MotionBlock& motion_block(const Camera& camera, const Output& output, const RigPage& page) {
  return output.is_copy() ? page.look(output.id, camera.decoding.process).motion
                          : encode_block(camera, output, page).motion;
}

void add(std::map<std::string, std::uint64_t>& dropped, const DropCounters& counters) {
  for (std::size_t i = 0; i < drop_causes; ++i) {
    const auto cause = static_cast<DropCause>(i);
    if (const std::uint64_t frames = load(counters, cause); frames > 0) dropped[name_of(cause)] += frames;
  }
}

// Of packets that are passed on the master counts what the publisher did not take, and nothing else is theirs.
void count_copied(FrameCounts& counts, const Output& output, const RigPage& page) {
  const CopyBlock& block = page.copy(output.id);
  counts.encoded = output.packets_published();
  add(counts.dropped, block.unpublished);
  counts.decoded = counts.encoded + sum(block.unpublished);
}

void add(std::map<std::string, std::uint64_t>& dropped, DropCause cause, std::uint64_t frames) {
  if (frames > 0) dropped[name_of(cause)] += frames;
}

// Frames are left at each edge on their way: by who writes it, those that it did not publish, those that it published
// while this reader was away, and those that it took back from its queue; and by the node that encodes them. Later
// stages are read first, so that a frame on its way is never seen at its end and not at its beginning.
void count_encoded(FrameCounts& counts, const Camera& camera, const Output& output, const RigPage& page) {
  counts.encoded = output.packets_published();
  add(counts.dropped, encode_block(camera, output, page).dropped);
  const auto path = camera.path_of(output);
  for (const Camera::Hop& hop : path | std::views::reverse) {
    if (hop.reader != nullptr) {
      const std::uint64_t published = hop.edge->published();  // before those that are meant for the reader
      const ReaderFrames frames = hop.edge->frames_from(*hop.reader);
      add(counts.dropped, DropCause::queue_full, frames.recalled);
      if (published > frames.meant) add(counts.dropped, DropCause::worker_lost, published - frames.meant);
    }
    add(counts.dropped, writer_block(camera, *hop.edge, page).unpublished);
  }
  counts.repeated = encode_block(camera, output, page).counters.of(Counter::repeated);
  if (camera.is_mosaic()) {
    const TickClock& clock = clock_of(camera, page);
    add(counts.dropped, clock.skipped);
    counts.decoded = clock.ticks;
    return;
  }
  const DropCounters& not_decoded = page.source(camera.id).unpublished;
  add(counts.dropped, not_decoded);
  const CameraEdge& first = *path.front().edge;
  counts.decoded = first.published() + sum(writer_block(camera, first, page).unpublished) + sum(not_decoded);
}

void add(FrameCounts& counts, const FrameCounts& before) {
  counts.decoded += before.decoded;
  counts.repeated += before.repeated;
  counts.encoded += before.encoded;
  for (const auto& [cause, number] : before.dropped) counts.dropped[cause] += number;
  counts.dropped_total += before.dropped_total;
  counts.recorded += before.recorded;
  counts.unrecorded += before.unrecorded;
}

}  // namespace

std::uint64_t FrameCounts::dropped_for(DropCause cause) const {
  const auto found = dropped.find(name_of(cause));
  return found == dropped.end() ? 0 : found->second;
}

FrameCounts count(const Camera& camera, const Output& output, const RigPage& page) {
  FrameCounts counts;
  const auto progress = load_record_progress(page.publish(output.id).record);
  counts.recorded = progress ? progress->recorded : 0;
  counts.unrecorded = progress ? progress->unrecorded : 0;
  if (output.is_copy()) {
    count_copied(counts, output, page);
  } else {
    count_encoded(counts, camera, output, page);
  }
  for (const auto& [cause, frames] : counts.dropped) counts.dropped_total += frames;
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
  return {count(camera, output, page),     latencies_of(camera, output, page), counters_of(camera, output, page),
          motion_of(camera, output, page), sets_of(camera, output, page),      output.recording.on};
}

SetTotals sets_of(const Camera& camera, const Output& output, const RigPage& page) {
  if (!output.config.group) return {};
  SetTotals totals{output.config.group->name};
  if (output.before && output.before->sets.group == totals.group) totals = output.before->sets;
  if (!camera.takes_part()) return totals;
  const DecidedSets& sets = encode_block(camera, output, page).sets;
  totals.encoded += sets.encoded.load();
  totals.dropped += sets.dropped.load();
  totals.out_of_tolerance += sets.out_of_tolerance.load();
  return totals;
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

bool reports_motion(const Camera& camera, const Output& output) {
  const auto& record = output.config.record;
  if (record && record->when == RecordWhen::motion) return true;
  if (output.is_own()) return has_motion(output.config);
  const auto& outputs = camera.config->outputs;
  const auto as_given = std::ranges::find(outputs, output.config.output, &OutputConfig::name);
  return as_given != outputs.end() && has_motion(*as_given);
}

HistogramCounts latency_of(const Camera& camera, const Output& output, const RigPage& page) {
  HistogramCounts latency =
      output.is_copy() ? page.copy(output.id).latency.counts() : encode_block(camera, output, page).latency.counts();
  if (output.before) latency.add(output.before->latencies.total);
  return latency;
}

Latencies latencies_of(const Camera& camera, const Output& output, const RigPage& page) {
  Latencies latencies;
  if (!output.is_copy()) {
    const EncodeBlock& block = encode_block(camera, output, page);
    latencies.transit = block.transit.counts();
    if (!camera.is_mosaic()) {
      latencies.decode = decode_block(camera, page).decode.counts();
      latencies.queue = page.edge_reader(camera.frames().id, camera.nodes.front().process()).queue.counts();
    }
    latencies.filter = block.filter.counts();
    latencies.encode = block.encode.counts();
    latencies.overhead = block.overhead.counts();
  } else {
    latencies.transit = page.copy(output.id).transit.counts();
  }
  if (output.before) latencies.add(output.before->latencies);
  latencies.total = latency_of(camera, output, page);
  return latencies;
}

namespace {

// A join accounts for each frame of the source, whichever of its parts come. A tick of a mosaic may have been noted
// without what was skipped before it: then that is lost, too.
std::uint64_t frames_into(const Camera& camera, const CameraNode& node, const RigPage& page) {
  if (camera.is_mosaic()) {
    const TickClock& clock = clock_of(camera, page);
    return clock.ticks - sum(clock.skipped);
  }
  if (node.joins) return camera.frames().published();
  const CameraEdge& input = *camera.edges_to(node).front();
  const ReaderFrames frames = input.frames_for(input.reader(node.id));
  return frames.meant - frames.recalled;
}

}  // namespace

std::vector<LostFrames> settle_node(const Camera& camera, const CameraNode& node, const RigPage& page,
                                    DropCause cause) {
  std::vector<LostFrames> lost;
  const std::uint64_t in = frames_into(camera, node, page);
  const auto settle = [&](const std::string& name, std::uint64_t came, std::uint64_t out, DropCounters& dropped) {
    const std::uint64_t accounted = out + sum(dropped);
    if (came <= accounted) return;
    counter(dropped, cause).fetch_add(came - accounted);
    lost.push_back({name, came - accounted});
  };
  for (const Output& output : camera.outputs) {
    if (output.is_copy() || output.node != node.id) continue;
    EncodeBlock& block = page.encode(output.id, node.process());
    settle(output.config.name, in + block.counters.of(Counter::repeated), output.packets_published(), block.dropped);
  }
  for (const CameraEdge& edge : camera.edges) {
    if (edge.writer == node.id && !edge.cell)  // a cell's may have begun at any of the node's frames
      settle(camera.name(), in, edge.published(), page.edge_writer(edge.id, node.process()).unpublished);
  }
  return lost;
}

void settle_lost(const Camera& camera, const CameraNode& node, const RigPage& page) {
  for (const auto& [name, frames] : settle_node(camera, node, page, DropCause::worker_lost))
    spdlog::warn("{}: frames lost with its worker: {}", name, frames);
}

// Tick k is frame k + 1. Who draws may be ahead of the supervisor by as much as its clock.
std::uint64_t newest_frame(const Camera& camera, const CameraNode& node, const RigPage& page) {
  if (node.joins) return camera.frames().published();
  if (!camera.is_mosaic()) return camera.edges_to(node).front()->published();
  const std::int64_t first = clock_of(camera, page).first;
  if (first <= 0 || first > now_ns()) return 0;
  const double ticks = static_cast<double>(now_ns() - first) * camera.config->mosaic->rate / 1e9;
  return static_cast<std::uint64_t>(ticks) + 2;
}

std::uint64_t accounted_at(const Camera& camera, const CameraNode& node, const RigPage& page) {
  std::uint64_t most = 0;
  for (const Output& output : camera.outputs) {
    if (output.is_copy() || output.node != node.id) continue;
    const EncodeBlock& block = page.encode(output.id, node.process());
    const std::uint64_t all = output.packets_published() + sum(block.dropped);
    most = std::max(most, all - std::min(all, block.counters.of(Counter::repeated)));
  }
  for (const CameraEdge& edge : camera.edges) {
    if (edge.writer != node.id || edge.cell) continue;
    most = std::max(most, edge.published() + sum(page.edge_writer(edge.id, node.process()).unpublished));
  }
  return most;
}

void settle(const Camera& camera, const RigPage& page, DropCause cause) {
  for (const CameraNode& node : camera.nodes) settle_node(camera, node, page, cause);
}

DropsByCause dropped_behind_source(const Camera& camera, const Output& output, const RigPage& page) {
  DropsByCause drops{};
  const auto add_all = [&](const DropCounters& counters) {
    for (std::size_t cause = 0; cause < drop_causes; ++cause) drops[cause] += counters[cause].load();
  };
  add_all(encode_block(camera, output, page).dropped);
  for (const Camera::Hop& hop : camera.path_of(output)) {
    if (hop.edge->writer) add_all(writer_block(camera, *hop.edge, page).unpublished);
    if (hop.reader == nullptr) continue;
    const ReaderFrames frames = hop.edge->frames_from(*hop.reader);
    const std::uint64_t published = hop.edge->published();
    drops[static_cast<std::size_t>(DropCause::queue_full)] += frames.recalled;
    drops[static_cast<std::size_t>(DropCause::worker_lost)] += published - std::min(published, frames.meant);
  }
  return drops;
}

void replace_dropped(DropCounters& counters, const DropsByCause& drops) {
  for (std::size_t cause = 0; cause < drop_causes; ++cause) counters[cause] = drops[cause];
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
