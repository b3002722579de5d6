// Cameras whose frames meet in a mosaic: what has to run on one machine.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace campipe {

struct CameraConfig;

// It is a mosaic that shows the camera.
bool shows(const CameraConfig& mosaic, const std::string& camera);

// By camera the unit that it is of: a mosaic and what it shows, and other mosaics that show one of these. Units are
// named as the first of their members by name. Disabled mosaics show nothing, and those
// across nodes need nothing on theirs. Cameras that are in no other mosaic have no entry.
std::map<std::string, std::string> mosaic_units(const std::vector<CameraConfig>& cameras);

}  // namespace campipe
