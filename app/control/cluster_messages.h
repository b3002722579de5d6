// Between the supervisor and the process of a rig that is a node of a cluster (app/cluster/cluster_process.h): messages
// as in app/control/messages.h. The supervisor says what the node has and what cameras take; the process says which
// cameras the node has to run, and for how long it may be certain of that.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"
#include "app/control/json_fields.h"
#include "app/control/message_parts.h"

namespace campipe {

template <>
struct JsonOf<ClusterConfig> {
  static nlohmann::json write(const ClusterConfig& cluster) { return to_json(cluster); }
  static ClusterConfig read(const nlohmann::json& from) { return cluster_from_json(from); }
};
template <>
struct JsonOf<std::map<std::string, double>> {
  static nlohmann::json write(const std::map<std::string, double>& amounts) { return amounts; }
  static std::map<std::string, double> read(const nlohmann::json& from) { return from; }
};

namespace messages {

// By resource, as in app/cluster/node_offer.h.
using Amounts = std::map<std::string, double>;

// ---- To the cluster's process

// What the node has. The first one comes with JoinCluster, the next ones when that changes.
struct OfferNode {
  static constexpr std::string_view type = "offer";
  Amounts capacity;
  nlohmann::json devices;  // as app/placement writes them
  bool unusable = false;   // the cluster's rig is, on this node: its cameras are better off elsewhere
  static void fields(auto& m, auto&& f) {
    f("capacity", m.capacity), f("devices", m.devices), f("unusable", m.unusable);
  }
};

// The first one.
struct JoinCluster {
  static constexpr std::string_view type = "join";
  ClusterConfig config;
  std::string instance;  // of this run of the supervisor: a successor of the process goes on under the same lease
  std::string folder;    // where the rig of the cluster is to be written
  std::string rig;       // the text of this node's own file: the cluster's rig, where there is none yet
  OfferNode offer;
  static void fields(auto& m, auto&& f) {
    f("config", m.config), f("instance", m.instance), f("folder", m.folder), f("rig", m.rig), f("offer", m.offer);
  }
};

// Of the rig that was named last: what the plan is made from.
struct PlanCameras {
  static constexpr std::string_view type = "cameras";
  struct Needs {
    std::string name;
    int priority = 50;
    std::vector<Amounts> ways;  // in which it can run, the best first
    std::string unit;           // cameras of one unit have to run on one node; empty: it is alone
    static void fields(auto& m, auto&& f) {
      f("name", m.name), f("priority", m.priority), f("ways", m.ways), f("unit", m.unit);
    }
  };
  std::vector<Needs> cameras;
  static void fields(auto& m, auto&& f) { f("cameras", m.cameras); }
};

// Nothing of the node runs any more: leave the cluster.
struct LeaveCluster : Empty {
  static constexpr std::string_view type = "leave";
};

using ToCluster = MessageList<JoinCluster, OfferNode, PlanCameras, LeaveCluster>;

// ---- From it

// The rig that counts has been written there.
struct ClusterRigWritten {
  static constexpr std::string_view type = "rig";
  std::string file;
  std::int64_t revision = 0;  // grows with each change
  static void fields(auto& m, auto&& f) { f("file", m.file), f("revision", m.revision); }
};

// The cameras that the plan gives to this node: all of them, each time.
struct ClusterDuties {
  static constexpr std::string_view type = "duties";
  std::vector<std::string> cameras;
  static void fields(auto& m, auto&& f) { f("cameras", m.cameras); }
};

// etcd has answered: until then no other node runs the same cameras.
struct ClusterLease {
  static constexpr std::string_view type = "lease";
  std::int64_t until = 0;  // monotonic ns
  static void fields(auto& m, auto&& f) { f("until", m.until); }
};

// Another campipe runs under the node's name.
struct NodeNameTaken {
  static constexpr std::string_view type = "name_taken";
  std::string reason;
  static void fields(auto& m, auto&& f) { f("reason", m.reason); }
};

using FromCluster = MessageList<ClusterRigWritten, ClusterDuties, ClusterLease, NodeNameTaken>;

}  // namespace messages
}  // namespace campipe
