// A cluster as one of its nodes meets it: the plan with its fences, the node's lease, and who may push. It outlives the
// node's process `cluster`, which asks it what the real one asks etcd (cluster_role.cpp). All other nodes are one here:
// that has the cameras that this node has not, records each a while after it was given to it, and pushes it as soon as
// nobody else may.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/assignment.h"
#include "tests/sim/rig_choice.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class ClusterModel {
 public:
  static constexpr auto ttl = seconds(5);  // of the lease
  enum class Pushes : std::uint8_t { nobody, this_node, other_node };
  struct Camera {
    bool is_here = false;  // the plan gives it to this node
    Fence fence{};
    bool is_recorded = false;  // under that fence, as its node has said
    Pushes pushed_by = Pushes::nobody;
    bool other_wants_push = false;  // since it was given the camera, and until this node records it
    Clock::time_point other_pushes_since{};
    Clock::time_point away_until{};  // the plan gives it to the other node until then
  };

  // Both must outlive it.
  ClusterModel(World& world, const RigChoice& choice);

  // The rig is a node.
  [[nodiscard]] bool is_on() const { return is_on_; }
  // This node is to run the camera; or the rig is no node.
  [[nodiscard]] bool gives(const std::string& camera) const { return !is_on_ || cameras_.at(camera).is_here; }
  [[nodiscard]] const std::map<std::string, Camera>& cameras() const { return cameras_; }

  // What befalls it: this node does not reach etcd; another campipe has its name; a camera, by its number, is the other
  // node's.
  void cut_off(nanoseconds lasts);
  void take_name(nanoseconds lasts);
  void give_away(std::uint64_t number, nanoseconds lasts);

  // For the process `cluster`; what follows, while etcd answers.
  [[nodiscard]] bool answers() const { return world_.now() >= cut_off_until_; }
  [[nodiscard]] bool name_is_taken() const { return world_.now() < name_taken_until_; }
  // Returns the lease: that of a predecessor of the same instance, if it still lives.
  std::int64_t join(const std::string& instance);
  // False: the lease has ended.
  bool keep_alive(std::int64_t lease);
  void leave();
  [[nodiscard]] bool has_rig() const { return has_rig_; }
  void store_rig() { has_rig_ = true; }
  void plan() { plans_ = true; }
  // Cameras that this node cannot run or record.
  void set_unfit(const std::vector<std::string>& cameras);
  // This node records the camera under its fence.
  void say_recorded(const std::string& camera);
  void claim_push(const std::string& camera);
  void release_push(const std::string& camera);

  // Something of the camera was sent to a push target, by a call that began at `began`.
  void on_pushed(const std::string& camera, Clock::time_point began) const;

 private:
  void replan();
  [[nodiscard]] bool is_for_this_node(const std::string& name, const Camera& camera) const;
  void assign(const std::string& name, Camera& camera, bool is_here);
  void end_lease();
  void have_others_push(Camera& camera);

  World& world_;
  bool is_on_;
  Chance chance_;
  std::map<std::string, Camera> cameras_;
  std::string instance_;
  std::int64_t revision_ = 0;
  std::int64_t lease_ = 0;  // 0: this node has none
  Clock::time_point lease_ends_{};
  Clock::time_point cut_off_until_{};
  Clock::time_point name_taken_until_{};
  std::set<std::string> unfit_;
  bool has_rig_ = false;
  bool plans_ = false;  // what cameras take is known
};

}  // namespace campipe::sim
