// Stages and tiles of other nodes' cameras that this node of the cluster does for them: which there are follows from
// the rig and the cluster's plan, as at the node that has the camera (remote_stages.h). Each device that such a part
// names has a worker of its own for them, a guest (app/remote/guest.h). It is none of the rig's: cameras are not placed
// there.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/config/drop_policy.h"
#include "app/config/remote_place.h"
#include "app/supervisor/cluster_control.h"
#include "app/supervisor/cluster_rig.h"
#include "app/supervisor/link_exchange.h"
#include "app/supervisor/processes.h"

namespace campipe {

namespace messages {
struct EdgeFailed;
}  // namespace messages

class GuestStages {
 public:
  GuestStages(RigState& rig, Processes& processes, const ClusterRig& cluster, const ClusterControl& control,
              LinkExchange& exchange)
      : rig_(rig), processes_(processes), cluster_(cluster), control_(control), exchange_(exchange) {}

  // To be called several times a second, before LinkExchange::share().
  void follow();
  // Some part is done there.
  [[nodiscard]] bool needs(const ManagedProcess& guest) const;
  void on_death(const ManagedProcess& guest);
  // Of a guest. Each throws BadMessage for what it cannot mean.
  void on(const ManagedProcess& by, const messages::LinkListens& listens);
  void on(const ManagedProcess& by, const messages::EdgeFailed& failed);
  void on(const ManagedProcess& /*by*/, const messages::LinkTransports& transports) { exchange_.on(transports); }

  // As RemoteStages::add_status().
  void add_status(nlohmann::json& links) const;

 private:
  // What the camera's node asks for.
  struct Wanted {
    std::string camera;
    std::string peer;  // which has it
    RemotePart part;
    DropPolicy policy = DropPolicy::drop;
    unsigned queue_size = 0;
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  struct Stage {
    Wanted wanted;
    NodeId node;
    EdgeId input;
    EdgeId output;
    unsigned worker = 0;
    StageLinks links;
  };
  static Wanted asked(const ClusterRig::GuestPart& part, const std::string& by);
  [[nodiscard]] std::vector<Wanted> wanted() const;
  [[nodiscard]] bool is_still_used(const Stage& stage) const;
  void end_others(const std::vector<Wanted>& wanted);
  void add(const Wanted& wanted);
  [[nodiscard]] ManagedProcess* guest_on(const std::string& place);
  void follow(Stage& stage);
  void begin(Stage& stage, ManagedProcess& guest, const messages::OfferedLinks& offered);
  [[nodiscard]] Stage* find(const ManagedProcess& by, EdgeId edge);

  RigState& rig_;
  Processes& processes_;
  const ClusterRig& cluster_;
  const ClusterControl& control_;
  LinkExchange& exchange_;
  std::vector<Stage> stages_;
  std::map<std::string, std::string> refused_;  // why, by camera and part: it is logged once
};

}  // namespace campipe
