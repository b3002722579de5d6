// The links of this node of a cluster: cells of mosaics whose cameras run on other nodes (`across_nodes`). Where this
// node has the camera, its frames for the cell go to the node that has the mosaic; where it has the mosaic, they come
// in place of a camera's. Which links there are follows from the rig and the cluster's plan, at both nodes alike.
// A link to a node that has another key than before, since it was restarted, is made anew.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/supervisor/cluster/cluster_control.h"
#include "app/supervisor/cluster/cluster_rig.h"
#include "app/supervisor/cluster/link_exchange.h"
#include "app/supervisor/life/camera_setup.h"
#include "app/supervisor/life/ring_router.h"
#include "app/supervisor/processes/processes.h"

namespace campipe {

struct CameraConfig;

class MosaicLinks {
 public:
  MosaicLinks(RigState& rig, Processes& processes, CameraSetup& setup, RingRouter& rings, const ClusterRig& cluster,
              const ClusterControl& control, LinkExchange& exchange);

  // Links come and go, and those that a new process does not know are named to it. To be called several times a second.
  void follow();
  // The process of links is needed.
  [[nodiscard]] bool any() const { return !wanted_.empty(); }
  void on_death();

  // For the status: an array.
  [[nodiscard]] nlohmann::json status() const;

 private:
  struct Wanted {
    std::string link;  // its name
    const CameraConfig* mosaic = nullptr;
    unsigned cell = 0;
    std::string camera;
    std::string peer;  // the other node
    bool sends = false;
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  [[nodiscard]] std::vector<Wanted> wanted() const;
  [[nodiscard]] const Wanted* wanted_as(const EdgeLink& link) const;
  void end_others();
  void end(Camera& camera, CameraEdge& edge);
  void stop_unknown();
  void add(const Wanted& link);
  void add_sending(const Wanted& link, const messages::OfferedLinks& offered);
  void add_receiving(const Wanted& link, const messages::OfferedLinks& offered);
  void tell();
  void tell_sending(Camera& camera, CameraEdge& edge, ManagedProcess& process);
  void tell_receiving(CameraEdge& edge, ManagedProcess& process);
  void share();
  [[nodiscard]] ManagedProcess* process() const;
  template <typename Do>
  void for_each_link(const Do& act) const;

  RigState& rig_;
  Processes& processes_;
  CameraSetup& setup_;
  RingRouter& rings_;
  const ClusterRig& cluster_;
  const ClusterControl& control_;
  LinkExchange& exchange_;
  std::vector<Wanted> wanted_;
  std::map<EdgeId, std::string> told_;  // links that the process has, by their edges
};

}  // namespace campipe
