// What became of an output, as a line of the log: when its camera goes, and when the rig ends.
#pragma once

#include <string>

#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/camera.h"

namespace campipe {

// Its state, counts, newest file and reason.
std::string format_outcome(const Output& output, const FrameCounts& counts);

}  // namespace campipe
