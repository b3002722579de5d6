// Has cameras go over from workers that are late to others that have room, as BalancePolicy says (`balance: auto`).
// Used by the supervisor's thread.
#pragma once

#include <string>
#include <vector>

#include "app/supervisor/moving/balance_policy.h"
#include "app/supervisor/moving/moves.h"
#include "app/supervisor/port/port.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

class Balancer {
 public:
  Balancer(RigState& rig, Processes& processes, Moves& moves, Port& port)
      : rig_(rig), processes_(processes), moves_(moves), port_(port) {}

  // To be called with each tick.
  void follow();
  // Cameras of that worker need not give up anything yet: a move may help.
  [[nodiscard]] bool may_relieve(unsigned worker) const { return policy_.may_relieve(worker, Clock::now()); }

 private:
  [[nodiscard]] bool is_wanted() const;
  [[nodiscard]] RigLoad load();
  void add_workers(RigLoad& load);
  void add_nodes(RigLoad& load, const Camera& camera);
  [[nodiscard]] std::string why_it_stays(const Camera& camera) const;
  [[nodiscard]] std::vector<unsigned> others_for(const Camera& camera);

  RigState& rig_;
  Processes& processes_;
  Moves& moves_;
  Port& port_;
  BalancePolicy policy_;
  Clock::time_point next_look_{};
  bool said_blind_ = false;
};

}  // namespace campipe
