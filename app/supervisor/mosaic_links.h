// The links of this node of a cluster: cells of mosaics whose cameras run on other nodes (`across_nodes`). Where this
// node has the camera, its frames for the cell go to the node that has the mosaic; where it has the mosaic, they come
// in place of a camera's. Which links there are follows from the rig and the cluster's plan, at both nodes alike.
//
// Nodes tell each other their keys, and where they listen, through their doors, of which the publisher asks those that
// are named here. A link to a node that has another key than before, since it was restarted, is made anew.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/supervisor/camera_setup.h"
#include "app/supervisor/cluster_control.h"
#include "app/supervisor/cluster_rig.h"
#include "app/supervisor/processes.h"
#include "app/supervisor/ring_router.h"

namespace campipe {

class MosaicLinks {
 public:
  MosaicLinks(RigState& rig, Processes& processes, CameraSetup& setup, RingRouter& rings, const ClusterRig& cluster,
              const ClusterControl& control);

  // Links come and go, and those that a new process does not know are named to it. To be called several times a second.
  void follow();
  // The process of links is needed.
  [[nodiscard]] bool any() const { return !wanted_.empty(); }
  void send_setup(ManagedProcess& process) const;
  void on_death();
  // A new publisher.
  void share_again() { shared_.reset(); }
  // Throws BadMessage for what no node can offer.
  void on(const messages::PeerLinks& links);
  void on(const messages::LinkTransports& transports) { transports_ = transports; }

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
  [[nodiscard]] const messages::OfferedLinks* offered_by(const std::string& node) const;
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
  [[nodiscard]] std::vector<LinkTransport> own_transports() const;
  [[nodiscard]] std::optional<LinkTransport> transport_from(const messages::OfferedLinks& offered) const;
  [[nodiscard]] ManagedProcess* process() const;
  [[nodiscard]] bool encrypts() const { return rig_.config.cluster->links.encrypt; }
  template <typename Do>
  void for_each_link(const Do& act) const;

  RigState& rig_;
  Processes& processes_;
  CameraSetup& setup_;
  RingRouter& rings_;
  const ClusterRig& cluster_;
  const ClusterControl& control_;
  std::string public_key_;
  std::string secret_key_;
  std::vector<Wanted> wanted_;
  std::map<std::string, messages::OfferedLinks> offered_;  // by node
  std::map<EdgeId, std::string> told_;                     // links that the process has, by their edges
  std::optional<messages::ShareLinks> shared_;             // as the publisher knows it
  std::optional<messages::LinkTransports> transports_;     // none: the process has not said yet
  std::set<std::string> without_transport_;                // nodes of which that was logged
};

}  // namespace campipe
