// Cameras that have to run on one node, such as a mosaic and what it shows: for who assigns, one camera that takes what
// all of them take. Pure functions.
#pragma once

#include <map>
#include <string>

#include "app/cluster/assign.h"

namespace campipe {

// Each unit as one camera, named as the first of its members by name, as important as the most important one, and where
// most of them are. Cameras without a unit stay as they are.
ClusterView merge_units(const ClusterView& view);

// The places of `merged`, for each member. `view`: before it was merged.
std::map<std::string, CameraPlace> expand_units(const ClusterView& view,
                                                const std::map<std::string, CameraPlace>& merged);

}  // namespace campipe
