// The graph of a running camera, for the status: the nodes and frame rings of `--plan=json` (docs/placement.md) under
// the same ids and words, with how full each ring is.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/supervisor/rig/cameras.h"
#include "core/clock.h"

namespace campipe {

// Used by the supervisor's thread, about once a second.
class StatusGraph {
 public:
  // `camera`: one that takes part. Frames a second are those since the call before.
  nlohmann::json make(const Camera& camera, const Cameras& cameras);

 private:
  struct Sample {
    std::string name = {};  // whose: ids are used again
    Clock::time_point at = {};
    std::uint64_t published = 0;
    double fps = 0;
  };
  double frame_rate(const Camera& camera, const CameraEdge& edge);

  std::map<EdgeId, Sample> samples_;
};

}  // namespace campipe
