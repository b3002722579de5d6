// Cameras that go from one node to another one without a gap: the one that has them goes on until the other one has
// said that it records them, by the key recorders/NODE/CAMERA with the fence of its assignment. What that node says it
// says once for each assignment. Where it says nothing for long, the one that goes on says that, by kept/NODE/CAMERA,
// and is answered also where the plan does not know that it had the camera.
// No threads; one thread.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "app/cluster/assignment.h"
#include "app/cluster/cluster_keys.h"
#include "app/cluster/duties.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/membership_state.h"
#include "app/cluster/own_key_changes.h"

namespace campipe {

class NodeHandOver {
 public:
  // After which it is said that a camera's next node has not begun.
  static constexpr std::chrono::seconds patience{20};

  NodeHandOver(ClusterKeys keys, std::string node) : keys_(std::move(keys)), node_(std::move(node)) {}

  // Cameras that this node records, with the fences under which it does (text_of()).
  void set_recorded(std::map<std::string, std::string> fences) { recorded_ = std::move(fences); }
  // Enters what is to be written. Returns cameras that this node keeps although they are another one's, as that has not
  // begun for long, with that node.
  std::map<std::string, std::string> update(const EtcdMirror& mirror, const MembershipState& membership,
                                            const NodeDuties& duties, Clock::time_point now, OwnKeyChanges& changes);

 private:
  std::map<std::string, std::string> kept(const NodeDuties& duties, Clock::time_point now);

  ClusterKeys keys_;
  std::string node_;
  std::map<std::string, std::string> recorded_;
  std::map<std::string, std::pair<Fence, Clock::time_point>> waits_;  // for a camera's next node, since then
};

}  // namespace campipe
