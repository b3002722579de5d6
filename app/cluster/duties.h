// What a node has to run, from the plan that it has seen and what other nodes say that they run. No threads and no
// etcd.
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
#include "app/cluster/plan_store.h"

namespace campipe {

struct NodeDuty {
  Fence fence;            // names what it writes: nothing else ever has the same
  std::string from = {};  // the node that had the camera before, which may wait until this one records it; empty: none
  // It is another node's by now, under that fence, and goes on here until that one records it.
  std::string to = {};
  Fence next = {};
  bool next_knows = true;  // its assignment names a node before it: it says of itself when it records the camera
  [[nodiscard]] bool is_leaving() const { return !to.empty(); }
  friend bool operator==(const NodeDuty&, const NodeDuty&) = default;
};
using NodeDuties = std::map<std::string, NodeDuty>;  // by camera

// What a node knows of its duties while it runs. A value; one thread.
class DutyKeeper {
 public:
  // `duties`: what another one has said of this node before: what that has seen counts here, too.
  explicit DutyKeeper(std::string node, NodeDuties duties = {});

  // The cameras of the node, by a plan as the mirror shows it. What it must not obey, or cannot read, changes nothing:
  // an older plan, an older assignment, a value of a newer version. Cameras that it had and that are another node's by
  // now are among them until the mirror shows that this one records them.
  const NodeDuties& update(const StoredPlan& plan, const EtcdMirror& mirror, const ClusterKeys& keys);
  // The plan is older than one that was seen, or gone: etcd was restored from a backup, or lost its data.
  [[nodiscard]] bool plan_is_older() const { return plan_is_older_; }
  // Cameras whose assignments in the newest plan are older than ones that were seen, and are not obeyed.
  [[nodiscard]] const std::set<std::string>& refused() const { return refused_; }

 private:
  std::string node_;
  NodeDuties duties_;
  Fence newest_plan_;  // of the pointer
  bool plan_is_older_ = false;
  std::set<std::string> refused_;
  FenceGuard guard_;
};

// The last duties of a node, but for those that leave it, in a file of its own, for a start while etcd is away.
// Reading: nothing where there are none, or those of another cluster or node. Both throw no exception but Error, and
// only for writing.
void save_duties(const std::filesystem::path& file, const std::string& cluster, const std::string& node,
                 const NodeDuties& duties);
std::optional<NodeDuties> saved_duties(const std::filesystem::path& file, const std::string& cluster,
                                       const std::string& node);

}  // namespace campipe
