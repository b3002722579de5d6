// What a node of a cluster makes of what it sees: it follows the plan, knows what it has to run, says what it does, and
// plans when it is elected. It waits for nothing: what does is behind NodeParts, which are threads in a ClusterAgent,
// and part of a model in a simulation (tests/sim/cluster). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/duties.h"
#include "app/cluster/effects.h"
#include "app/cluster/election.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/node_hand_over.h"
#include "app/cluster/node_offer.h"
#include "app/cluster/plan_maker.h"
#include "app/cluster/rig_store.h"

namespace campipe {

class NodeParts {
 public:
  virtual ~NodeParts() = default;

  virtual MembershipState membership() = 0;
  // What has become of the keys since the last call.
  virtual std::vector<EtcdNews> news() = 0;
  // Why none comes; empty: it does.
  [[nodiscard]] virtual std::string news_problem() const = 0;
  // As Planning has them.
  virtual void plan(PlanSnapshot snapshot) = 0;
  virtual void rest() = 0;
  virtual PlanMade planned() = 0;
  // As OwnKeys has them.
  [[nodiscard]] virtual bool may_write(std::int64_t mirror_revision) const = 0;
  virtual void write(OwnKeyChanges changes) = 0;
  [[nodiscard]] virtual std::string write_problem() const = 0;
};

struct NodeView {
  MembershipState membership;
  // The keys are at least as new as the lease: they have this node's offer under it. Else a node that was away, and has
  // a lease again, would go on by what it knew before.
  bool sees_itself = false;
  // Another start has the node's name: it had been this one's.
  bool name_is_lost = false;
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

class NodeLogic {
 public:
  // `instance`: of this start of the node. `duties`: what a predecessor has had it run. `last_duties`: what it runs
  // before etcd could be read.
  NodeLogic(ClusterKeys keys, std::string node, std::string instance, NodeDuties duties,
            std::optional<NodeDuties> last_duties, NodeParts& parts);

  const NodeView& update(Clock::time_point now);
  [[nodiscard]] const NodeView& view() const { return view_; }
  [[nodiscard]] const EtcdMirror& mirror() const { return mirror_; }
  std::vector<ClusterPlanner::Move> take_moves();

  void set_cameras(std::vector<ClusterCamera> cameras);
  void set_recorded(std::map<std::string, std::string> fences) { hand_over_.set_recorded(std::move(fences)); }
  void hold_recordings() { holds_recordings_ = true; }
  void want_effects(std::set<std::string> cameras) { effects_.want(std::move(cameras)); }

 private:
  bool follow();
  void follow_rig();
  void look_for_itself();
  void write_own_keys(Clock::time_point now);
  void plan_if_elected(bool is_news, Clock::time_point now);

  ClusterKeys keys_;
  std::string node_;
  std::string instance_;
  NodeParts& parts_;
  std::int64_t offer_created_ = 0;  // of this start, as it was seen last; 0: it was not
  EtcdMirror mirror_;
  DutyKeeper keeper_;
  Effects effects_;
  NodeHandOver hand_over_;
  std::optional<std::vector<ClusterCamera>> cameras_;
  bool cameras_are_new_ = false;
  bool holds_recordings_ = false;
  std::optional<Candidacy> planning_as_;
  std::vector<ClusterPlanner::Move> moves_;
  NodeView view_;
};

}  // namespace campipe
