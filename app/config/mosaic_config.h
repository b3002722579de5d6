// A mosaic as it is run: what a camera's configuration has in place of a source (its keys: app/config/keys/mosaic.h).
#pragma once

#include <string>
#include <vector>

#include "core/frame_colour.h"
#include "core/frame_region.h"

namespace campipe {

struct MosaicCell {
  std::string camera;
  FrameRegion region;
  friend bool operator==(const MosaicCell&, const MosaicCell&) = default;
};

struct MosaicConfig {
  int width = 1920;
  int height = 1080;
  double rate = 25;  // of its own clock
  bool labels = true;
  Rgb background;
  std::vector<MosaicCell> cells;  // as lay_out_mosaic() has laid them out; the cameras are in the rig
  bool across_nodes = false;      // in a cluster: its cameras may run on other nodes
  friend bool operator==(const MosaicConfig&, const MosaicConfig&) = default;
};

}  // namespace campipe
