// The synchronised groups of a rig, as its cameras have them.
#pragma once

#include <string>
#include <vector>

#include "app/config/group_config.h"

namespace campipe {

struct RigConfig;

struct RigGroup {
  GroupConfig rules;
  std::vector<std::string> cameras = {};  // in the file's order
};
// In the order of their first cameras.
std::vector<RigGroup> groups_of(const RigConfig& rig);
// For people: "group stereo: left, right; 25 sets a second, …".
std::string describe(const RigGroup& group);

}  // namespace campipe
