// Which cameras of a node of a cluster push, and until when. No two nodes push one camera: each of them asks for it
// (HoldPushes), one of them gets it, for as long as its lease is certain (ClusterLease), and the next one only when
// this one has said that it has stopped.
//
// What holds lies in the rig page, where each push looks before it sends anything (PushPermit): so pushes end in time
// although this process or that of the cluster does nothing any more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "app/control/messages/cluster.h"
#include "app/supervisor/processes.h"
#include "app/supervisor/rig_state.h"

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
  [[nodiscard]] messages::HoldPushes held() const;
  [[nodiscard]] bool may_push(const std::string& camera) const;
  void allow(const Camera& camera);

  RigState& rig_;
  Processes& processes_;
  messages::ClusterLease lease_;
  std::set<std::string> may_;                  // cameras, of `lease_`
  std::map<std::string, bool> runs_;           // cameras with pushes that are here: they are this node's
  std::map<std::string, std::uint64_t> held_;  // as they were sent last, with the message since which they are held
  std::uint64_t number_ = 0;                   // of that
};

}  // namespace campipe
