// What becomes of a camera that the plan gives to this node, or has given to it until now. A pure function: the
// supervisor and a simulation of the cluster (tests/sim/cluster) do the same.
#pragma once

#include <cstdint>

#include "app/config/camera_config.h"

namespace campipe {

enum class CameraDuty : std::uint8_t {
  end,
  run,   // as the cluster's rig describes it
  go_on  // as it runs, if it does, until the next node records it
};

// `leaves`: it is another node's by now. `lease_until`: how long the node is certain of its lease. Times are ns of
// Clock.
inline CameraDuty camera_duty(bool leaves, OnPartition on_partition, std::int64_t now, std::int64_t lease_until) {
  const bool keeps = on_partition == OnPartition::keep;
  if (leaves) return keeps ? CameraDuty::go_on : CameraDuty::end;
  return keeps || now < lease_until ? CameraDuty::run : CameraDuty::end;
}

}  // namespace campipe
