// A cluster as one of its nodes sees it: what a node's process of the cluster sends to the supervisor, what `campipe
// cluster status --json` prints, and what GET /api/v1/cluster answers. docs/api.md has the fields.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace campipe {

struct ClusterState {
  struct Rig {
    std::int64_t revision = 0;  // 0: there is none yet
    std::string problem;        // why it cannot be used; empty: it can
    static void fields(auto& m, auto&& f) { f("revision", m.revision), f("problem", m.problem); }
    friend bool operator==(const Rig&, const Rig&) = default;
  };
  struct Etcd {
    bool up = false;                     // it has answered as lately as the node needs
    std::optional<bool> full = {};       // NOSPACE; nothing: it was not asked
    std::optional<std::string> problem;  // with it, or with the plan, for people
    static void fields(auto& m, auto&& f) { f("up", m.up), f("full", m.full), f("problem", m.problem); }
    friend bool operator==(const Etcd&, const Etcd&) = default;
  };
  struct Node {
    bool here = false;  // else cameras are assigned to it all the same, or recordings may lie on it
    int cameras = 0;    // that are assigned to it
    bool draining = false;
    bool usable = true;  // else it cannot use the newest rig
    std::string address = {};
    std::string version = {};
    std::map<std::string, std::string> labels = {};
    std::map<std::string, double> capacity = {};
    static void fields(auto& m, auto&& f) {
      f("here", m.here), f("cameras", m.cameras), f("draining", m.draining), f("usable", m.usable),
          f("address", m.address), f("version", m.version), f("labels", m.labels), f("capacity", m.capacity);
    }
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Camera {
    std::string node;          // empty: none
    std::string home;          // where it goes back to; empty: it is at home
    std::string reason;        // why it has no node, or not the one that it should have
    std::string wanted;        // the node that somebody wants it on
    std::string kept_by = {};  // a node that goes on with it, as its node has not begun to record it for long
    static void fields(auto& m, auto&& f) {
      f("node", m.node), f("home", m.home), f("reason", m.reason), f("wanted", m.wanted), f("kept_by", m.kept_by);
    }
    friend bool operator==(const Camera&, const Camera&) = default;
  };

  std::string cluster;
  std::string node;     // who sees it so
  std::string planner;  // the node that plans; empty: none
  Rig rig = {};
  Etcd etcd = {};
  std::map<std::string, Node> nodes = {};
  std::map<std::string, Camera> cameras = {};
  static void fields(auto& m, auto&& f) {
    f("cluster", m.cluster), f("node", m.node), f("planner", m.planner), f("rig", m.rig), f("etcd", m.etcd),
        f("nodes", m.nodes), f("cameras", m.cameras);
  }
  friend bool operator==(const ClusterState&, const ClusterState&) = default;
};

// The cluster has such a node, and it is not away.
inline bool is_here(const ClusterState& state, const std::string& node) {
  const auto found = state.nodes.find(node);
  return found != state.nodes.end() && found->second.here;
}

// The node that has the camera, or mosaic; empty: none has, or that one is away.
inline std::string node_here(const ClusterState& state, const std::string& camera) {
  const auto found = state.cameras.find(camera);
  return found != state.cameras.end() && is_here(state, found->second.node) ? found->second.node : "";
}

// A camera that has no node, or not the one that it should have: why. Empty: it has.
inline std::string note_of(const ClusterState::Camera& camera) {
  if (!camera.kept_by.empty()) return camera.node + " has not begun to record it: it goes on on " + camera.kept_by;
  if (!camera.reason.empty()) return camera.reason;
  if (!camera.wanted.empty() && camera.wanted != camera.node) return "is wanted on " + camera.wanted;
  return camera.home.empty() ? "" : "its home is " + camera.home;
}

}  // namespace campipe
