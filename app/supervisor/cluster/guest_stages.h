// Stages and tiles of other nodes' cameras that this node of the cluster does for them: which there are follows from
// the rig and the cluster's plan, as at the node that has the camera (remote_stages.h). Each is a node in a worker. The
// process of links writes the rings that it reads, with the frames that have come, and reads those that it writes,
// whose frames go back. Each device that such a part names has a worker of its own for them: no camera of this node is
// placed there.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/config/drop_policy.h"
#include "app/config/remote_place.h"
#include "app/supervisor/cluster/cluster_control.h"
#include "app/supervisor/cluster/cluster_rig.h"
#include "app/supervisor/cluster/link_exchange.h"
#include "app/supervisor/life/ring_router.h"
#include "app/supervisor/processes/processes.h"

namespace campipe {

namespace messages {
struct EdgeDone;
struct EdgeFailed;
struct FrameRing;
struct FrameRingLost;
struct NodeDone;
}  // namespace messages

class GuestStages {
 public:
  GuestStages(RigState& rig, Processes& processes, RingRouter& rings, const ClusterRig& cluster,
              const ClusterControl& control, LinkExchange& exchange)
      : rig_(rig), processes_(processes), rings_(rings), cluster_(cluster), control_(control), exchange_(exchange) {}

  // To be called several times a second, before LinkExchange::share().
  void follow();
  // Something is done here for others: the process of links is needed.
  [[nodiscard]] bool any() const { return !stages_.empty(); }
  // Some part is done there.
  [[nodiscard]] bool needs(const ManagedProcess& worker) const;
  void on_worker_death(const ManagedProcess& worker);
  void on_link_death();
  // The edge is one of theirs.
  [[nodiscard]] bool has(EdgeId edge);

  // A stage's worker, or the process of links, has sent a message. Throws BadMessage if it may not send that.
  void on(const ManagedProcess& by, const messages::FrameRing& ring, std::vector<UniqueFd>& fds, bool incomplete);
  void on(const ManagedProcess& by, const messages::LinkListens& listens);
  void on(const ManagedProcess& by, const messages::EdgeDone& done);
  void on(const ManagedProcess& by, const messages::NodeDone& done);
  void on(const ManagedProcess& by, const messages::FrameRingLost& lost);
  void on(const ManagedProcess& by, const messages::EdgeFailed& failed);

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
    CameraEdge input;   // from the process of links to the worker
    CameraEdge output;  // and back
    unsigned worker = 0;
    bool runs = false;  // the worker has the node
    StageLinks links;
    bool ending = false;
    unsigned ends_left = 0;  // of the links that are ending
  };
  static Wanted asked(const ClusterRig::GuestPart& part, const std::string& by);
  [[nodiscard]] std::vector<Wanted> wanted() const;
  [[nodiscard]] bool is_still_used(const Stage& stage) const;
  void end_others(const std::vector<Wanted>& wanted);
  void end(Stage& stage);
  void remove_ended();
  void add(const Wanted& wanted);
  [[nodiscard]] ManagedProcess& worker_on(const std::string& place);
  void follow(Stage& stage);
  void follow_links(Stage& stage, const messages::OfferedLinks& offered);
  void follow_rings(Stage& stage);
  void follow_accusations(Stage& stage);
  void run(Stage& stage);
  void begin_receiving(Stage& stage, const messages::OfferedLinks& offered);
  void begin_sending(Stage& stage, const messages::OfferedLinks& offered);
  [[nodiscard]] Stage* find(EdgeId edge);
  [[nodiscard]] Stage& find(const ManagedProcess& by, NodeId node);

  RigState& rig_;
  Processes& processes_;
  RingRouter& rings_;
  const ClusterRig& cluster_;
  const ClusterControl& control_;
  LinkExchange& exchange_;
  std::list<Stage> stages_;
  std::map<std::string, std::string> refused_;  // why, by camera and part: it is logged once
};

}  // namespace campipe
