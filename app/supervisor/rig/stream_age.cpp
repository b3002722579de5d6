#include "app/supervisor/rig/stream_age.h"

#include <algorithm>
#include <cstdint>

#include "app/config/camera_config.h"
#include "app/supervisor/rig/source_waits.h"
#include "core/clock.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

bool queue_is_full(const Camera& camera) {
  return !camera.is_mosaic() && camera.frames().newest &&
         waiting_frames(camera) >= static_cast<unsigned>(camera.config->queue_size);
}

}  // namespace

std::optional<StreamAge> age_of(const Camera& camera, const Output& output, const RigPage& page) {
  if (output.state != CameraState::running || output.config.on_demand || !output.packets.newest) return std::nullopt;
  const auto newest = output.packets.newest->newest();
  if (!newest) return std::nullopt;
  const std::int64_t until = !output.is_copy() && queue_is_full(camera) ? now_ns() : newest->encoded;
  StreamAge age{.rig = std::chrono::nanoseconds(std::max<std::int64_t>(until - newest->arrival, 0))};
  if (!camera.is_mosaic()) {
    age.source = std::chrono::nanoseconds(std::max<std::int64_t>(page.source(camera.id).health.lag.load(), 0));
  }
  return age;
}

std::chrono::nanoseconds fallen_behind(const Camera& camera, const RigPage& page) {
  const bool keeps_time = camera.is_mosaic() || campipe::keeps_time(camera.config->source);
  const auto age = keeps_time && !camera.config->group ? age_of(camera, camera.own(), page) : std::nullopt;
  if (!age) return {};
  return camera.is_mosaic() || is_live(camera.config->source.url) ? age->rig : age->total();
}

}  // namespace campipe
