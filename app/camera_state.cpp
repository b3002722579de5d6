#include "app/camera_state.h"

#include "app/record_state.h"

namespace campipe {
namespace {

std::uint64_t sum(const std::array<std::atomic<std::uint64_t>, drop_causes>& counters) {
  std::uint64_t total = 0;
  for (const auto& counter : counters) total += counter.load();
  return total;
}

}  // namespace

CameraCounts count(const CameraState& camera, const CameraBlock& block) {
  CameraCounts counts;
  // Later stages first, so that a frame on its way is never seen at its end and not at its beginning.
  const auto progress = load_record_progress(block.record);
  counts.recorded = progress ? progress->recorded : 0;
  counts.encoded = camera.packets_published();
  std::uint64_t unpublished = 0;
  for (std::size_t cause = 0; cause < drop_causes; ++cause) {
    const std::uint64_t early = block.unpublished[cause].load();
    const std::uint64_t late = block.dropped[cause].load();
    unpublished += early;
    counts.dropped_total += early + late;
    if (early + late > 0) counts.dropped[name_of(static_cast<DropCause>(cause))] = early + late;
  }
  counts.decoded = camera.frames_published() + unpublished;
  counts.converted = block.converted.load();
  return counts;
}

std::uint64_t settle(const CameraState& camera, CameraBlock& block, DropCause cause) {
  const std::uint64_t accounted = camera.packets_published() + sum(block.dropped);
  const std::uint64_t published = camera.frames_published();
  if (published <= accounted) return 0;
  counter(block.dropped, cause).fetch_add(published - accounted);
  return published - accounted;
}

const char* name_of(CameraState::State state) {
  switch (state) {
    case CameraState::State::starting:
      return "starting";
    case CameraState::State::running:
      return "running";
    case CameraState::State::ended:
      return "ended";
    case CameraState::State::failed:
      return "failed";
  }
  return "";
}

}  // namespace campipe
