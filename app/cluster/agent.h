// A node of a cluster, as far as it needs no camera: it joins, follows the plan, knows what it has to run, and plans
// when it is elected (NodeLogic). Who owns it waits for its fds, some tenths of a second at most, and then calls
// update(), which does not wait for anything. One thread; etcd is spoken to by threads inside.
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

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/membership.h"
#include "app/cluster/node_logic.h"
#include "app/cluster/own_keys.h"
#include "app/cluster/planning.h"

namespace campipe {

class ClusterAgent : private NodeParts {
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

  using View = NodeView;

  // Throws Error as EtcdClient does.
  explicit ClusterAgent(Options options);
  // Leaves the cluster; up to 1.5 s.
  ~ClusterAgent() override;
  ClusterAgent(const ClusterAgent&) = delete;
  ClusterAgent& operator=(const ClusterAgent&) = delete;

  [[nodiscard]] std::vector<pollfd> fds() const;
  const View& update(Clock::time_point now) { return logic_.update(now); }
  [[nodiscard]] const View& view() const { return logic_.view(); }
  // The cluster's keys, as the last update() has seen them.
  [[nodiscard]] const EtcdMirror& mirror() const { return logic_.mirror(); }
  // Moves that this node has planned, since the last call: for the log and events.
  std::vector<ClusterPlanner::Move> take_moves() { return logic_.take_moves(); }

  void set_cameras(std::vector<ClusterCamera> cameras) { logic_.set_cameras(std::move(cameras)); }
  // Cameras that this node records, with their fences (text_of()).
  void set_recorded(std::map<std::string, std::string> fences) { logic_.set_recorded(std::move(fences)); }
  // Recordings of this node's may lie on it: that is known from then on, also when it is away.
  void hold_recordings() { logic_.hold_recordings(); }
  // All cameras whose effects this node wants, or has not ended.
  void want_effects(std::set<std::string> cameras) { logic_.want_effects(std::move(cameras)); }
  void set_offer(NodeOffer offer) { membership_.set_offer(std::move(offer)); }

 private:
  MembershipState membership() override { return membership_.state(); }
  std::vector<EtcdNews> news() override { return watch_.take(); }
  [[nodiscard]] std::string news_problem() const override { return watch_.problem(); }
  void plan(PlanSnapshot snapshot) override { planning_.plan(std::move(snapshot)); }
  void rest() override { planning_.rest(); }
  PlanMade planned() override { return planning_.take(); }
  [[nodiscard]] bool may_write(std::int64_t revision) const override { return own_keys_.is_ready(revision); }
  void write(OwnKeyChanges changes) override { own_keys_.write(std::move(changes)); }
  [[nodiscard]] std::string write_problem() const override { return own_keys_.problem(); }

  ClusterKeys keys_;
  EtcdWatch watch_;
  NodeLogic logic_;
  Membership membership_;
  Planning planning_;
  OwnKeys own_keys_;
};

}  // namespace campipe
