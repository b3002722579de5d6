// Whether tiles can make a camera's stream faster, estimated before its source is known.
#pragma once

#include <string>

#include "app/placement/plan.h"

namespace campipe {

struct CameraConfig;

// Why they cannot; empty: they may, or it is not known, or there are none. `camera`: with this plan.
std::string why_tiles_cannot_pay(const CameraConfig& camera, const CameraPlan& plan);

}  // namespace campipe
