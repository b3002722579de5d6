#include "app/placement/mosaic_units.h"
#include "app/config/camera_config.h"

#include <algorithm>

namespace campipe {

bool shows(const CameraConfig& mosaic, const std::string& camera) {
  return mosaic.mosaic &&
         std::ranges::find(mosaic.mosaic->cells, camera, &MosaicCell::camera) != mosaic.mosaic->cells.end();
}

std::map<std::string, std::string> mosaic_units(const std::vector<CameraConfig>& cameras) {
  std::map<std::string, std::string> units;
  for (const CameraConfig& mosaic : cameras) {
    if (!mosaic.mosaic || !mosaic.enabled || mosaic.mosaic->across_nodes) continue;
    std::vector<std::string> members{mosaic.name};
    for (const MosaicCell& cell : mosaic.mosaic->cells) members.push_back(cell.camera);
    std::string unit = *std::ranges::min_element(members);
    std::vector<std::string> joined;  // units that become one
    for (const std::string& member : members) {
      const auto found = units.find(member);
      if (found == units.end()) continue;
      joined.push_back(found->second);
      unit = std::min(unit, found->second);
    }
    for (auto& [member, of] : units) {
      if (std::ranges::find(joined, of) != joined.end()) of = unit;
    }
    for (const std::string& member : members) units[member] = unit;
  }
  return units;
}

}  // namespace campipe
