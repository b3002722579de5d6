// How the frames of cameras come to a mosaic: what their nodes do to them for a cell, and which memory they go through.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/control/camera_placement.h"
#include "app/placement/devices.h"
#include "stages/filters/filter_config.h"

namespace campipe {

struct CameraConfig;
struct MosaicConfig;
struct RigConfig;

// What the camera's last node, whose first filter is the camera's filter `first`, does to its frames for a cell: all of
// the camera's filters that change them, and then they get the cell's size.
std::vector<FilterConfig> cell_filters(const CameraConfig& camera, std::size_t first, const MosaicConfig& mosaic,
                                       std::size_t cell);

// Of the ring from the camera's last node to the mosaic's, by the devices that they work on.
RingMemory cell_memory(const CameraConfig& camera, const Device& from, const Device& to, const Devices& devices);

// The names of the cameras that enabled mosaics show.
std::set<std::string, std::less<>> shown_cameras(const RigConfig& rig);

}  // namespace campipe
