// What a node has to run, and what it may: from the plan that it has seen, its membership, and what the configuration
// says of partitions. No threads and no etcd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "app/cluster/assignment.h"
#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/membership.h"
#include "app/cluster/plan_store.h"
#include "app/config/cluster_config.h"

namespace campipe {

struct NodeDuty {
  Fence fence;                // names what it writes: nothing else ever has the same
  std::string from = {};      // the node that had the camera before; empty: none
  bool from_is_here = false;  // that node lives: it hands the camera over, and ends its effects before others begin
  friend bool operator==(const NodeDuty&, const NodeDuty&) = default;
};
using NodeDuties = std::map<std::string, NodeDuty>;  // by camera

// What a node knows of its duties while it runs. A value; one thread.
class DutyKeeper {
 public:
  explicit DutyKeeper(std::string node) : node_(std::move(node)) {}

  // The cameras of the node, by a plan as the mirror shows it. What it must not obey, or cannot read, changes nothing:
  // an older plan, an older assignment, a value of a newer version. Once the node that had a camera before was seen to
  // be gone, its return does not matter for that camera.
  const NodeDuties& update(const StoredPlan& plan, const EtcdMirror& mirror, const ClusterKeys& keys);
  // The plan is older than one that was seen, or gone: etcd was restored from a backup, or lost its data.
  [[nodiscard]] bool plan_is_older() const { return plan_is_older_; }
  // The node that had the camera before has said that it has ended what it did under older fences.
  void handed_over(const std::string& camera, const Fence& fence) { freed_[camera] = fence; }

 private:
  std::string node_;
  NodeDuties duties_;
  Fence newest_plan_;  // of the pointer
  bool plan_is_older_ = false;
  FenceGuard guard_;
  std::map<std::string, Fence> freed_;  // cameras whose predecessor does nothing any more, as of this fence
};

struct CameraLeave {
  bool run = false;      // be decoded, encoded and recorded
  bool effects = false;  // also what must not happen twice: pushes, and sources that take one client only
  friend bool operator==(const CameraLeave&, const CameraLeave&) = default;
};
CameraLeave leave_of(const NodeDuty& duty, OnPartition on_partition, const MembershipState& membership,
                     Clock::time_point now);

// The last duties of a node, in a file of its own, for a start while etcd is away. Reading: nothing where there are
// none, or those of another cluster or node. Both throw no exception but Error, and only for writing.
void save_duties(const std::filesystem::path& file, const std::string& cluster, const std::string& node,
                 const NodeDuties& duties);
std::optional<NodeDuties> saved_duties(const std::filesystem::path& file, const std::string& cluster,
                                       const std::string& node);

}  // namespace campipe
