// A mosaic as the file gives it. What is read becomes a camera's configuration with a MosaicConfig (mosaic.cpp).
#pragma once

#include <string>
#include <vector>

#include "app/config/camera_config.h"
#include "app/config/mosaic_layout.h"

namespace campipe {

struct MosaicCameras {
  bool all = true;
  std::vector<std::string> names = {};  // else
  friend bool operator==(const MosaicCameras&, const MosaicCameras&) = default;
};

struct MosaicKeys : CameraConfig {
  MosaicCameras cameras;
  MosaicLayout layout;
};

}  // namespace campipe
