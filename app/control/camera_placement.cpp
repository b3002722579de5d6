#include "app/control/camera_placement.h"

#include "app/config/stream_config.h"

namespace campipe {

bool tries_gpu_encoder(const Placement& placement, const StreamConfig& output) {
  return placement.hardware_encoder && !output.snapshot;
}

}  // namespace campipe
