// Where a cluster's keys lie in etcd. All begin with prefix(), which is one watch.
//
//   /campipe/NAME/nodes/NODE            a node's offer, under its lease: there as long as the node is
//   /campipe/NAME/planners/NODE         a node that would plan, under its lease: the one that was created first does
//   /campipe/NAME/rig                   which generation of the rig's configuration counts
//   /campipe/NAME/rig/GEN/PIECE         a piece of its text
//   /campipe/NAME/plan                  which generation of the plan counts
//   /campipe/NAME/plans/GEN/CAMERA      an assignment
//   /campipe/NAME/drained/NODE          somebody drains a node: it takes no cameras, and gives up its own
//   /campipe/NAME/wanted/CAMERA         somebody wants a camera on a node
//   /campipe/NAME/effects/CAMERA        what must not happen twice with a camera (pushes) is done by the node that made
//                                       this key, under its lease: there as long as it may be doing it
//   /campipe/NAME/recorders/NODE/CAMERA the node records the camera that came to it, under its lease
//   /campipe/NAME/kept/NODE/CAMERA      likewise: it goes on with a camera whose next node has not begun for long
//   /campipe/NAME/holders/NODE          recordings may lie on the node, whether it is there or not
//   /campipe/NAME/canary                written by who has heard nothing for long (EtcdWatch)
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace campipe {

class ClusterKeys {
 public:
  // `cluster`: a name without '/'.
  explicit ClusterKeys(const std::string& cluster) : prefix_("/campipe/" + cluster + "/") {}

  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] std::string nodes() const { return prefix_ + "nodes/"; }
  [[nodiscard]] std::string node(const std::string& name) const { return nodes() + name; }
  [[nodiscard]] std::string planners() const { return prefix_ + "planners/"; }
  [[nodiscard]] std::string planner(const std::string& name) const { return planners() + name; }
  [[nodiscard]] std::string rig() const { return prefix_ + "rig"; }
  [[nodiscard]] std::string rig_generation(std::uint64_t number) const {
    return rig() + "/" + std::to_string(number) + "/";
  }
  [[nodiscard]] std::string drained(const std::string& name) const { return prefix_ + "drained/" + name; }
  [[nodiscard]] std::string wanted() const { return prefix_ + "wanted/"; }
  [[nodiscard]] std::string wanted(const std::string& camera) const { return wanted() + camera; }
  [[nodiscard]] std::string effects() const { return prefix_ + "effects/"; }
  [[nodiscard]] std::string effect(const std::string& camera) const { return effects() + camera; }
  [[nodiscard]] std::string recorder(const std::string& node, const std::string& camera) const {
    return prefix_ + "recorders/" + node + "/" + camera;
  }
  [[nodiscard]] std::string all_kept() const { return prefix_ + "kept/"; }
  [[nodiscard]] std::string kept(const std::string& node, const std::string& camera) const {
    return all_kept() + node + "/" + camera;
  }
  [[nodiscard]] std::string holders() const { return prefix_ + "holders/"; }
  [[nodiscard]] std::string holder(const std::string& node) const { return holders() + node; }
  [[nodiscard]] std::string plan() const { return prefix_ + "plan"; }
  [[nodiscard]] std::string plans() const { return prefix_ + "plans/"; }
  [[nodiscard]] std::string generation(std::uint64_t number) const { return plans() + std::to_string(number) + "/"; }

 private:
  std::string prefix_;
};

}  // namespace campipe
