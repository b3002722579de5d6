// What a machine has, and what each camera takes of it, as amounts by resource: with these the elected node of a
// cluster (docs/cluster.md) decides which node gets which camera. Pure functions.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/config/config.h"
#include "app/placement/mosaic_units.h"
#include "app/placement/rig_needs.h"

namespace campipe {

// "cores", "memory", "GPU time" … in units that all machines share.
using NodeAmounts = std::map<std::string, double>;

// As much as a rig may use of it. What is estimated counts twice, as in admission.
NodeAmounts node_capacity(const Machine& machine, const MachineCosts& costs);

// What one more camera of the kind takes, by this machine's costs, in each of the ways in which it can run: as it would
// run here, and, where it may be on any device, on cores alone. None: it cannot be placed on this machine. A stream
// that is not known counts as 1080p. `loaded`: the rig, with that camera first, and of a mosaic with what it shows.
std::vector<NodeAmounts> camera_ways(const LoadedConfig& loaded, const Machine& machine, const MachineCosts& costs,
                                     const KnownStreams& streams);

// Calls `look` with each camera of the rig, as a rig that has it alone; of a mosaic, with what it shows behind it.
template <typename Look>
void each_camera_alone(LoadedConfig loaded, const Look& look) {
  const std::vector<CameraConfig> cameras = std::move(loaded.rig.cameras);
  const std::vector<GpuPlaces> places = std::move(loaded.gpu_places);
  for (std::size_t number = 0; number < cameras.size(); ++number) {
    loaded.rig.cameras = {cameras[number]};
    loaded.gpu_places = {places.at(number)};
    for (std::size_t other = 0; other < cameras.size(); ++other) {
      if (!shows(cameras[number], cameras[other].name)) continue;
      loaded.rig.cameras.push_back(cameras[other]);
      loaded.gpu_places.push_back(places.at(other));
    }
    look(std::as_const(loaded));
  }
}

}  // namespace campipe
