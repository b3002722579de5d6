// A node of a cluster, as far as it needs no camera: it joins, follows the plan, knows what it has to run, and plans
// when it is elected. Who owns it waits for its fds, or until next_look(), and then calls update(), which does not wait
// for anything. One thread; etcd is spoken to by threads inside.
//
// What its owner does with the view:
//   run the cameras in `leaves` that may run, and of them no effects but where `effects` says so; stop all others
//   give it the rig's cameras, with what they take (set_cameras), once they are known; without them nothing is planned
//   give it the node's offer when what the node has changes (set_offer), not more than every few seconds
//   tell it when a node that had a camera before has ended (handed_over), by whatever way nodes speak to each other
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cluster/duties.h"
#include "app/cluster/election.h"
#include "app/cluster/planning.h"
#include "app/cluster/rig_store.h"

namespace campipe {

class ClusterAgent {
 public:
  struct Options {
    EtcdServers servers;
    std::string cluster;
    NodeOffer offer;  // with its node and a new instance
    std::chrono::seconds ttl{5};
    std::chrono::milliseconds silence{10'000};  // of the watch
    // What the node runs before etcd could be read: its last duties, where the configuration wants it
    // (`on_etcd_missing: run`), else nothing.
    std::optional<NodeDuties> last_duties{};
  };

  struct View {
    MembershipState membership;
    bool plan_is_known = false;  // etcd was read, and has no older plan than was seen
    StoredRig rig{};             // of the plan's cluster, once it is known
    NodeDuties duties{};
    std::map<std::string, CameraLeave> leaves{};  // of the duties
    std::map<std::string, NodeOffer> nodes{};     // that are there, as far as this version can read their offers
    StoredPlan plan{};
    std::string planner{};  // the node that plans; empty: none
    std::string problem{};  // with etcd or the plan, for people; empty: none
  };

  // Throws Error as EtcdClient does.
  explicit ClusterAgent(Options options);
  // Leaves the cluster; up to 1.5 s.
  ~ClusterAgent();
  ClusterAgent(const ClusterAgent&) = delete;
  ClusterAgent& operator=(const ClusterAgent&) = delete;

  [[nodiscard]] std::vector<pollfd> fds() const;
  [[nodiscard]] std::optional<Clock::time_point> next_look() const;
  const View& update(Clock::time_point now);
  [[nodiscard]] const View& view() const { return view_; }
  // Moves that this node has planned, since the last call: for the log and events.
  std::vector<ClusterPlanner::Move> take_moves();

  void set_cameras(std::vector<ClusterCamera> cameras);
  void set_on_partition(std::map<std::string, OnPartition> of_cameras) { on_partition_ = std::move(of_cameras); }
  void set_offer(NodeOffer offer) { membership_.set_offer(std::move(offer)); }
  void handed_over(const std::string& camera, const Fence& fence) { keeper_.handed_over(camera, fence); }

 private:
  bool follow();
  void follow_rig();
  void plan_if_elected(bool is_news, Clock::time_point now);

  ClusterKeys keys_;
  std::string node_;
  EtcdWatch watch_;
  Membership membership_;
  Planning planning_;
  EtcdMirror mirror_;
  DutyKeeper keeper_;
  std::optional<std::vector<ClusterCamera>> cameras_;
  bool cameras_are_new_ = false;
  std::optional<Candidacy> planning_as_;
  std::map<std::string, OnPartition> on_partition_;  // without an entry: keep
  std::vector<ClusterPlanner::Move> moves_;
  View view_;
};

}  // namespace campipe
