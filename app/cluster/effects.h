// What must not happen twice with a camera, such as pushes: the key effects/CAMERA says which node does it. Each node
// that wants to makes the key where there is none, under its lease, and erases it when it has ended what it did. So
// there is at most one, and where it has died, its lease has ended the key, later than the node's own time ended
// (LeaseClock). One thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/duties.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/membership_state.h"
#include "app/cluster/own_key_changes.h"

namespace campipe {

class Effects {
 public:
  Effects(ClusterKeys keys, std::string node) : keys_(std::move(keys)), node_(std::move(node)) {}

  // Cameras with which this node wants to do it, or has not ended doing it. Until it was called nothing is erased: a
  // process before this one may have made keys.
  void want(std::set<std::string> cameras) { wanted_ = std::move(cameras); }
  // Those of them with which it may, until MembershipState::effects_end. Enters what is to be written.
  std::set<std::string> update(const EtcdMirror& mirror, const MembershipState& membership, const NodeDuties& duties,
                               OwnKeyChanges& changes);
  // These are about to be written.
  void on_written(const OwnKeyChanges& changes);

 private:
  ClusterKeys keys_;
  std::string node_;
  std::optional<std::set<std::string>> wanted_;
  // Own keys that are being erased, by when they were created: what a mirror shows of them counts no more.
  std::set<std::pair<std::string, std::int64_t>> released_;
};

}  // namespace campipe
