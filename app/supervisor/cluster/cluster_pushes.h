// Which cameras of a node of a cluster push, and until when. No two nodes push one camera: each of them asks for it
// (HoldPushes), one of them gets it, for as long as its lease is certain (ClusterLease), and the next one only when
// this one has said that it has stopped.
//
// What holds lies in the rig page, where each push looks before it sends anything (PushPermit): so pushes end in time
// although this process or that of the cluster does nothing any more.
#pragma once

#include <functional>
#include <string>

#include "app/control/messages/cluster.h"
#include "app/supervisor/cluster/push_holds.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

class ClusterPushes {
 public:
  ClusterPushes(RigState& rig, Processes& processes) : rig_(rig), processes_(processes) {}

  // What a new process of the cluster has to know.
  void send_setup(ManagedProcess& process) const;
  void on(const messages::ClusterLease& lease);
  // To be called several times a second. `runs`: whether a camera that is here is this node's.
  void follow(const std::function<bool(const std::string& camera)>& runs);

 private:
  void allow(const Camera& camera);

  RigState& rig_;
  Processes& processes_;
  PushHolds holds_;
};

}  // namespace campipe
