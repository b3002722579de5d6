// Whether a plan's moves were needed, and whether it has cameras where they have room: reckoned anew from what the
// planner saw, by the rules of docs/cluster.md, without the planner's code.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/cluster_planner.h"
#include "app/cluster/plan_maker.h"

namespace campipe::sim {

// What nodes offer, by the keys of a mirror.
struct SeenNode {
  Amounts capacity;
  bool is_readable = true;
  bool is_drained = false;
  std::set<std::string> unfit{};
  Amounts used{};
};

class PlanOracle {
 public:
  // As the plan has cameras.
  PlanOracle(const EtcdMirror& mirror, const ClusterKeys& keys, const std::vector<ClusterCamera>& cameras);

  // Why a move was not needed, or goes where it must not; empty: it is right. `after`: nodes of all cameras behind the
  // plan.
  [[nodiscard]] std::string wrong_with(const ClusterPlanner::Move& move,
                                       const std::map<std::string, std::string>& after) const;
  // A node that is there, fit, not drained, and has room for the camera beside what it has; empty: none.
  [[nodiscard]] std::string room_for(const std::string& camera) const;
  // It is at a node that says that it cannot run or record it, or that is drained.
  [[nodiscard]] bool is_better_off_elsewhere(const std::string& camera) const;
  [[nodiscard]] const std::map<std::string, std::string>& places() const { return places_; }

 private:
  [[nodiscard]] Amounts need_on(const ClusterCamera& camera, const SeenNode& node) const;
  [[nodiscard]] bool has_way(const ClusterCamera& camera, const SeenNode& node) const;
  [[nodiscard]] double load(const std::string& node, const std::map<std::string, std::string>& places) const;
  [[nodiscard]] bool is_overloaded(const std::string& node, const std::map<std::string, std::string>& places) const;
  [[nodiscard]] std::string wrong_alone(const ClusterPlanner::Move& move,
                                        const std::map<std::string, std::string>& after) const;

  std::map<std::string, SeenNode> nodes_;
  std::map<std::string, const ClusterCamera*> cameras_;
  std::map<std::string, std::string> places_;
  std::map<std::string, std::string> homes_;
  std::map<std::string, std::string> wishes_;
};

}  // namespace campipe::sim
