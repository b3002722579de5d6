// A node of a cluster, as far as it needs no camera: it joins, follows the plan, knows what it has to run, and plans
// when it is elected. Who owns it waits for its fds, some tenths of a second at most, and then calls update(), which
// does not wait for anything. One thread; etcd is spoken to by threads inside.
//
// What its owner does with the view:
//   run the cameras in `duties`, and no others. Of those that leave, only what runs goes on
//   say which of them are recorded (set_recorded), so that nodes that had them before may end
//   do what must not happen twice with a camera only while it is in `effects`, and until the membership's
//   `effects_end`. want_effects() asks for that, and gives it back
//   give it the rig's cameras, with what they take (set_cameras), once they are known; without them nothing is planned
//   give it the node's offer when what the node has changes (set_offer), not more than every few seconds
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cluster/duties.h"
#include "app/cluster/effects.h"
#include "app/cluster/election.h"
#include "app/cluster/node_hand_over.h"
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
    // What a predecessor has had it run: it goes on, and nothing older is obeyed.
    NodeDuties duties{};
    // What the node runs before etcd could be read: its last duties, where the configuration wants it
    // (`on_etcd_missing: run`), else nothing.
    std::optional<NodeDuties> last_duties{};
  };

  struct View {
    MembershipState membership;
    bool plan_is_known = false;  // etcd was read, and has no older plan than was seen
    StoredRig rig{};             // of the plan's cluster, once it is known
    NodeDuties duties{};
    std::set<std::string> refused{};            // cameras whose assignments are older than ones that were seen
    std::set<std::string> effects{};            // cameras
    std::map<std::string, std::string> kept{};  // of the duties that leave: for long, with the node that has not begun
    std::map<std::string, NodeOffer> nodes{};   // that are there, as far as this version can read their offers
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
  const View& update(Clock::time_point now);
  [[nodiscard]] const View& view() const { return view_; }
  // The cluster's keys, as the last update() has seen them.
  [[nodiscard]] const EtcdMirror& mirror() const { return mirror_; }
  // Moves that this node has planned, since the last call: for the log and events.
  std::vector<ClusterPlanner::Move> take_moves();

  void set_cameras(std::vector<ClusterCamera> cameras);
  // Cameras that this node records, with their fences (text_of()).
  void set_recorded(std::map<std::string, std::string> fences) { hand_over_.set_recorded(std::move(fences)); }
  // Recordings of this node's may lie on it: that is known from then on, also when it is away.
  void hold_recordings() { holds_recordings_ = true; }
  // All cameras whose effects this node wants, or has not ended.
  void want_effects(std::set<std::string> cameras) { effects_.want(std::move(cameras)); }
  void set_offer(NodeOffer offer) { membership_.set_offer(std::move(offer)); }

 private:
  bool follow();
  void follow_rig();
  void write_own_keys(Clock::time_point now);
  void plan_if_elected(bool is_news, Clock::time_point now);

  ClusterKeys keys_;
  std::string node_;
  EtcdWatch watch_;
  Membership membership_;
  Planning planning_;
  EtcdMirror mirror_;
  DutyKeeper keeper_;
  Effects effects_;
  NodeHandOver hand_over_;
  OwnKeys own_keys_;
  std::optional<std::vector<ClusterCamera>> cameras_;
  bool cameras_are_new_ = false;
  bool holds_recordings_ = false;
  std::optional<Candidacy> planning_as_;
  std::vector<ClusterPlanner::Move> moves_;
  View view_;
};

}  // namespace campipe
