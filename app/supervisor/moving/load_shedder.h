// Has cameras give way as ShedPolicy says, and tells their processes. Used by the supervisor's thread.
#pragma once

#include <string>
#include <vector>

#include "app/supervisor/moving/balancer.h"
#include "app/supervisor/moving/shed_policy.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

class LoadShedder {
 public:
  LoadShedder(RigState& rig, Processes& processes, const Balancer& balancer)
      : rig_(rig), processes_(processes), balancer_(balancer) {}

  // To be called with each tick.
  void follow();
  // These share a device that is known to be too small for them: one of the lowest priority is turned off, unless all
  // have the same, or none may give way.
  void turn_one_off(const std::vector<Camera*>& cameras);

 private:
  [[nodiscard]] bool may_change() const;
  [[nodiscard]] ShedPolicy::Load load_of(const Camera& camera) const;
  void change(Camera& camera, ShedStep step);

  RigState& rig_;
  Processes& processes_;
  const Balancer& balancer_;
  ShedPolicy policy_;
  Clock::time_point next_look_{};
};

}  // namespace campipe
