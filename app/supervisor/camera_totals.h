// What an output has counted. One that goes on under its name, when its camera is changed, disabled or enabled, gets a
// place, rings and counters of its own; what its predecessors counted is added wherever counters are shown.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/supervisor/camera_state.h"
#include "app/supervisor/report.h"

namespace campipe {

struct CameraTotals {
  CameraCounts counts;
  Latencies latencies;
  std::uint64_t bytes = 0;
  bool recording_on = true;  // was asked last
  // Not of followers:
  std::uint64_t corrupt_packets = 0;
  std::array<std::uint64_t, correction_kinds> times_corrected{};
  unsigned reconnects = 0;
  unsigned worker_restarts = 0;
};

// With those of its predecessors.
CameraTotals totals_of(const std::vector<CameraState>& cameras, const CameraState& camera, const RigPage& page);

// Of a camera's outputs, by their names.
using TotalsByName = std::map<std::string, std::shared_ptr<const CameraTotals>>;

}  // namespace campipe
