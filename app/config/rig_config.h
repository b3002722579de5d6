// The rig as its owner describes it.
#pragma once

#include <vector>

#include "app/config/camera_config.h"
#include "app/config/rig_settings.h"

namespace campipe {

struct RigConfig : RigSettings {
  std::vector<CameraConfig> cameras;  // in the file's order, and then the mosaics
};

}  // namespace campipe
