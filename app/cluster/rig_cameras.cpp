#include "app/cluster/rig_cameras.h"

#include "app/placement/node_amounts.h"

namespace campipe {

std::vector<ClusterCamera> rig_cameras(const LoadedConfig& loaded, const Machine& machine, const MachineCosts& costs,
                                       const std::map<std::string, std::string>& units) {
  std::vector<ClusterCamera> cameras;
  each_camera_alone(loaded, [&](const LoadedConfig& one) {
    const CameraConfig& camera = one.rig.cameras.front();
    if (!camera.enabled) return;
    const auto unit = units.find(camera.name);
    cameras.push_back({.name = camera.name,
                       .priority = camera.priority,
                       .ways = camera_ways(one, machine, costs, {}),
                       .unit = unit == units.end() ? std::string() : unit->second});
  });
  return cameras;
}

}  // namespace campipe
