// What report and status show of a camera in a synchronised group: how its frames lie against the sets, and of the
// whole group, how many sets there were and how far apart their frames were taken.
#pragma once

#include <nlohmann/json.hpp>

#include "app/supervisor/rig/cameras.h"

namespace campipe {

class RigPage;

// Of a camera's own stream; null for one that is in no group.
nlohmann::json group_report(const Camera& camera, const Cameras& cameras, const RigPage& page);

}  // namespace campipe
