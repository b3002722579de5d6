// What the elected node decides: from what a mirror of the cluster's keys shows, and the cameras of the rig, the plan
// that is to be written (write_plan). It remembers since when nodes are there or away, and nothing else: so the next
// node that is elected goes on from the plan in etcd. No thread, no etcd: pure but for that memory.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cluster/assign.h"
#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/plan_store.h"
#include "app/cluster/vanished_nodes.h"

namespace campipe {

// The node that somebody wants the camera on, by a command; empty: nobody does, or this version cannot read where.
std::string wanted_node(const EtcdMirror& mirror, const ClusterKeys& keys, const std::string& camera);

class ClusterPlanner {
 public:
  // How long a node has to be there before cameras go there of themselves.
  static constexpr std::chrono::seconds settling{60};

  // `lease`: the nodes'.
  explicit ClusterPlanner(Clock::duration lease) : vanished_(lease) {}

  struct Move {
    std::string camera;
    std::string from;    // empty: it had no node
    std::string to;      // empty: it has none now
    std::string reason;  // for people; may be empty
  };
  struct Decision {
    std::map<std::string, CameraAssignment> wanted{};
    std::vector<Move> moves{};
    std::set<std::string> waited_for{};  // nodes that are away, and are not given up yet
    std::set<std::string> unreadable{};  // nodes whose offers this version cannot read: their cameras stay
    std::optional<Clock::time_point> look_again{};
  };
  // To be called by a node that is elected, whenever the mirror or the cameras change, and when it was asked for. A
  // node that is elected again begins with a new object.
  Decision decide(const EtcdMirror& mirror, const ClusterKeys& keys, const StoredPlan& stored,
                  std::span<const ClusterCamera> cameras, Clock::time_point now);

 private:
  VanishedNodes vanished_;
  std::map<std::string, Clock::time_point> present_since_;
};

}  // namespace campipe
