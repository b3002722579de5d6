// Between the supervisor and the process of a rig that is a node of a cluster (app/cluster/cluster_process.h): messages
// (app/control/messages/parts.h). The supervisor says what the node has and what cameras take; the process says which
// cameras the node has to run, for how long it may be certain of that, and how the cluster is.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/cluster_config.h"
#include "app/control/cluster_state.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/parts.h"
#include "app/control/messages/requests.h"

namespace campipe::messages {

// By resource, as in app/cluster/node_offer.h.
using Amounts = std::map<std::string, double>;

// ---- To the cluster's process

// What the node has. The first one comes with JoinCluster, the next ones when that changes.
struct OfferNode {
  static constexpr std::string_view type = "offer";
  Amounts capacity;
  nlohmann::json devices;            // as app/placement writes them
  bool unusable = false;             // the cluster's rig is, on this node: its cameras are better off elsewhere
  std::vector<std::string> unfit{};  // cameras that cannot run here, or cannot be recorded; sorted
  static void fields(auto& m, auto&& f) {
    f("capacity", m.capacity), f("devices", m.devices), f("unusable", m.unusable), f("unfit", m.unfit);
  }
  friend bool operator==(const OfferNode&, const OfferNode&) = default;
};

// An assignment of a camera, as the names of files have it.
struct CameraFence {
  std::string camera;
  std::string fence;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("fence", m.fence); }
};

// The first one.
struct JoinCluster {
  static constexpr std::string_view type = "join";
  ClusterConfig config;
  std::string instance;  // of this run of the supervisor: a successor of the process goes on under the same lease
  std::string folder;    // where the rig of the cluster is to be written
  std::string rig;       // the text of this node's own file: the cluster's rig, where there is none yet
  OfferNode offer;
  std::vector<CameraFence> duties;  // as a process before it has named them, with those that leave
  static void fields(auto& m, auto&& f) {
    f("config", m.config), f("instance", m.instance), f("folder", m.folder), f("rig", m.rig), f("offer", m.offer),
        f("duties", m.duties);
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

// All cameras that this node wants to push, or has not stopped pushing: no other node may meanwhile.
struct HoldPushes {
  static constexpr std::string_view type = "pushes";
  std::uint64_t number = 0;  // of such messages
  std::vector<std::string> cameras;
  static void fields(auto& m, auto&& f) { f("number", m.number), f("cameras", m.cameras); }
};

// All cameras of its duties that this node records, each under the fence that was named for it.
struct RecordedCameras {
  static constexpr std::string_view type = "recorded";
  std::vector<CameraFence> cameras;
  bool has_files = false;  // files of recordings may lie on the node
  static void fields(auto& m, auto&& f) { f("cameras", m.cameras), f("has_files", m.has_files); }
};

// Nothing of the node runs any more: leave the cluster.
struct LeaveCluster : Empty {
  static constexpr std::string_view type = "leave";
};

// An entry of the cluster's rig is to be another one, or gone, if that rig is still the one whose text was checked with
// this change: the one that was written last on this node (ClusterRigWritten).
struct ChangeRig {
  static constexpr std::string_view type = "change_rig";
  std::uint64_t request = 0;
  std::uint64_t digest = 0;  // of that text (LoadedConfig::digest)
  std::string section;       // as the overlay names it (app/config/changes.h)
  std::string name;
  nlohmann::json keys;  // null: it goes; a bool of enabled_section
  static void fields(auto& m, auto&& f) {
    f("request", m.request), f("digest", m.digest), f("section", m.section), f("name", m.name), f("keys", m.keys);
  }
};

// What somebody asks of it through this node (DrainNode, MoveToNode, ChangeRig) is answered by an Answer with the same
// number.
using ToCluster = MessageList<JoinCluster, OfferNode, PlanCameras, HoldPushes, RecordedCameras, DrainNode, MoveToNode,
                              ChangeRig, LeaveCluster>;

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
  struct Duty {
    std::string camera;
    std::string fence;     // of the assignment, as the names of files have it
    bool leaving = false;  // it is another node's by now: if it runs here, it goes on until that one records it
    static void fields(auto& m, auto&& f) { f("camera", m.camera), f("fence", m.fence), f("leaving", m.leaving); }
    friend bool operator==(const Duty&, const Duty&) = default;
  };
  std::vector<Duty> cameras;
  static void fields(auto& m, auto&& f) { f("cameras", m.cameras); }
};

// etcd has answered: until then no other node runs the same cameras, nor pushes those that are named here.
struct ClusterLease {
  static constexpr std::string_view type = "lease";
  std::int64_t until = 0;  // monotonic ns
  std::uint64_t held = 0;  // the newest HoldPushes that this answers
  std::vector<std::string> may_push;
  static void fields(auto& m, auto&& f) { f("until", m.until), f("held", m.held), f("may_push", m.may_push); }
};

// Another campipe runs under the node's name.
struct NodeNameTaken {
  static constexpr std::string_view type = "name_taken";
  std::string reason;
  static void fields(auto& m, auto&& f) { f("reason", m.reason); }
};

// It is another one than before.
struct ClusterSeen {
  static constexpr std::string_view type = "seen";
  ClusterState state;
  static void fields(auto& m, auto&& f) { f("state", m.state); }
};

using FromCluster = MessageList<ClusterRigWritten, ClusterDuties, ClusterLease, NodeNameTaken, ClusterSeen, Answer>;

}  // namespace campipe::messages
