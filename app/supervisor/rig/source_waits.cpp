#include "app/supervisor/rig/source_waits.h"

#include <algorithm>

#include "app/config/camera_config.h"
#include "stages/sources/source_kind.h"

namespace campipe {

unsigned waiting_frames(const Camera& camera) {
  const CameraEdge& edge = camera.frames();
  unsigned waiting = 0;
  for (const EdgeReader& reader : edge.readers) {
    if (edge.newest && reader.seat) waiting = std::max(waiting, edge.newest->observer.pending_for(*reader.seat));
  }
  return std::min(waiting, static_cast<unsigned>(camera.config->queue_size));
}

// Of a group's cameras, one waits for another; a file that is read as fast as it goes has always some.
bool may_wait(const Camera& camera) {
  return !camera.is_mosaic() && !camera.config->group && keeps_time(camera.config->source) &&
         camera.frames().drop_policy(*camera.config) == DropPolicy::block;
}

bool source_waits(const Camera& camera) {
  return may_wait(camera) && waiting_frames(camera) >= static_cast<unsigned>(camera.config->queue_size);
}

}  // namespace campipe
