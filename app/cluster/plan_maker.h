// What the elected node does to plan: decides (ClusterPlanner), and writes what it has decided (write_plan). It works
// on the newest snapshot that it was given, and again when it is due. Planning has a thread for it; a simulation has
// none (tests/sim/cluster). One thread; carry_out() waits for etcd.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/cluster_planner.h"
#include "app/cluster/etcd_requests.h"
#include "app/cluster/membership_state.h"

namespace campipe {

struct PlanSnapshot {
  Candidacy candidacy;  // of this node, which is elected
  EtcdMirror mirror;
  std::vector<ClusterCamera> cameras;  // of the rig
};

struct PlanMade {
  std::vector<ClusterPlanner::Move> moves{};  // that are in etcd now
  std::set<std::string> waited_for{};         // nodes
  std::string problem{};                      // why the plan is not as it should be; empty: it is
};

class PlanMaker {
 public:
  // `lease`: the nodes'.
  PlanMaker(ClusterKeys keys, Clock::duration lease) : keys_(std::move(keys)), lease_(lease) {}

  // What its owner was given since the last call; `rests`: this node is not elected any more, and nothing is
  // remembered. True: it is time to carry_out().
  bool take(std::optional<PlanSnapshot> next, bool rests, Clock::time_point now);
  // When to call take() without anything new; nothing: not before there is.
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  [[nodiscard]] const PlanSnapshot& snapshot() const { return *snapshot_; }

  PlanMade carry_out(EtcdRequests& etcd, const std::function<Clock::time_point()>& now);

 private:
  ClusterKeys keys_;
  Clock::duration lease_;
  std::optional<PlanSnapshot> snapshot_;
  std::optional<ClusterPlanner> planner_;
  Candidacy planner_is_;  // for which it remembers
  std::optional<Clock::time_point> look_again_;
};

}  // namespace campipe
