#include "app/supervisor/camera_state.h"

#include "app/control/record_state.h"
#include "app/supervisor/camera_totals.h"

namespace campipe {
namespace {

std::uint64_t load(const DropCounters& counters, DropCause cause) {
  return counters[static_cast<std::size_t>(cause)].load();
}

// Where the frames of an output were left. Its worker counts what it left out of each output. In the block of the
// camera that an output follows the master counts for all outputs: frames that it did not publish, and those that it
// took back from the worker's queue. What the publisher did not take of packets that are passed on is the only cause of
// theirs, and nobody else's there.
struct Drops {
  bool copy;
  const MasterBlock& passed_on;
  const MasterBlock& source;
  const WorkerBlock& worker;

  [[nodiscard]] std::uint64_t unpublished(DropCause cause) const {
    if (copy) return cause == DropCause::publisher_slow ? load(passed_on.unpublished, cause) : 0;
    return cause == DropCause::publisher_slow ? 0 : load(source.unpublished, cause);
  }
  [[nodiscard]] std::uint64_t dropped(DropCause cause) const {
    if (copy) return 0;
    return load(cause == DropCause::queue_full ? source.dropped : worker.dropped, cause);
  }
};

Drops drops_of(const CameraState& camera, const RigPage& page) {
  return {is_copy(camera.config.encode), page.master(camera.index), page.master(source_of(camera)),
          page.worker(camera.index, camera.worker)};
}

void add(CameraCounts& counts, const CameraCounts& before) {
  counts.decoded += before.decoded;
  counts.encoded += before.encoded;
  for (const auto& [cause, number] : before.dropped) counts.dropped[cause] += number;
  counts.dropped_total += before.dropped_total;
  counts.converted += before.converted;
  counts.recorded += before.recorded;
  counts.unrecorded += before.unrecorded;
}

}  // namespace

CameraCounts count(const std::vector<CameraState>& cameras, const CameraState& camera, const RigPage& page) {
  CameraCounts counts;
  const Drops drops = drops_of(camera, page);
  const RecordState& record = page.publisher(camera.index).record;
  // Later stages first, so that a frame on its way is never seen at its end and not at its beginning.
  const auto progress = load_record_progress(record);
  counts.recorded = progress ? progress->recorded : 0;
  counts.unrecorded = progress ? progress->unrecorded : 0;
  counts.encoded = camera.packets_published();
  std::uint64_t unpublished = 0;
  for (std::size_t i = 0; i < drop_causes; ++i) {
    const auto cause = static_cast<DropCause>(i);
    const std::uint64_t early = drops.unpublished(cause);
    const std::uint64_t late = drops.dropped(cause);
    unpublished += early;
    counts.dropped_total += early + late;
    if (early + late > 0) counts.dropped[name_of(cause)] = early + late;
  }
  counts.decoded = (drops.copy ? counts.encoded : cameras[source_of(camera)].frames_published()) + unpublished;
  counts.converted = drops.copy ? 0 : drops.source.converted.load();
  if (camera.before) add(counts, camera.before->counts);
  return counts;
}

CameraTotals totals_of(const std::vector<CameraState>& cameras, const CameraState& camera, const RigPage& page) {
  const SourceHealth& source = page.master(camera.index).source;
  CameraTotals totals{count(cameras, camera, page),
                      latencies_of(page, camera),
                      page.publisher(camera.index).bytes.load(),
                      camera.recording_on,
                      source.corrupt_packets.load(),
                      {},
                      camera.reconnects,
                      camera.worker_restarts};
  for (std::size_t kind = 0; kind < correction_kinds; ++kind) {
    totals.times_corrected.at(kind) = source.times_corrected.at(kind).load();
  }
  if (!camera.before) return totals;
  totals.bytes += camera.before->bytes;
  totals.corrupt_packets += camera.before->corrupt_packets;
  totals.reconnects += camera.before->reconnects;
  totals.worker_restarts += camera.before->worker_restarts;
  for (std::size_t kind = 0; kind < correction_kinds; ++kind) {
    totals.times_corrected.at(kind) += camera.before->times_corrected.at(kind);
  }
  return totals;
}

std::uint64_t settle(const std::vector<CameraState>& cameras, const CameraState& camera, const RigPage& page,
                     DropCause cause) {
  const Drops drops = drops_of(camera, page);
  if (drops.copy) return 0;
  std::uint64_t accounted = camera.packets_published();
  for (std::size_t i = 0; i < drop_causes; ++i) accounted += drops.dropped(static_cast<DropCause>(i));
  const std::uint64_t published = cameras[source_of(camera)].frames_published();
  if (published <= accounted) return 0;
  counter(page.worker(camera.index, camera.worker).dropped, cause).fetch_add(published - accounted);
  return published - accounted;
}

std::uint64_t settle_recording(const CameraState& camera, const RigPage& page) {
  const auto& record = camera.config.record;
  if (!record || record->when == RecordWhen::motion || !camera.recording_on) return 0;
  RecordState& state = page.publisher(camera.index).record;
  const auto progress = load_record_progress(state);
  const std::uint64_t dealt_with = progress ? progress->number : 0;
  const std::uint64_t published = camera.packets_published();
  if (published <= dealt_with) return 0;
  store_unrecorded(state, published, published - dealt_with);
  return published - dealt_with;
}

const char* name_of(CameraState::State state) {
  switch (state) {
    case CameraState::State::starting:
      return "starting";
    case CameraState::State::running:
      return "running";
    case CameraState::State::waiting:
      return "waiting";
    case CameraState::State::ended:
      return "ended";
    case CameraState::State::failed:
      return "failed";
    case CameraState::State::disabled:
      return "disabled";
    case CameraState::State::removed:
      return "removed";
  }
  return "";
}

}  // namespace campipe
