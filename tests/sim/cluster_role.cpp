// The process of a node of a cluster, as app/cluster: it keeps the node's lease, follows the plan, and says what the
// node has to run; what it says, and when, is decided by the real NodeReports. In place of etcd it asks ClusterModel.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "app/cluster/node_reports.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/cluster.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

constexpr auto effect_margin = seconds(1);          // as LeaseClock's
constexpr auto longest_leave = milliseconds(1500);  // while etcd does not answer
constexpr const char* other_node = "there";

class ClusterRole final : public Role {
 public:
  explicit ClusterRole(Child& child) : child_(child), cluster_(child.machine().cluster()), reports_(Clock::now()) {}

  void on_message(Message& message) override {
    dispatch(messages::ToCluster(), message, [this](auto& read) { on(read); });
  }

  bool tick() override {
    if (leaves_at_) return Clock::now() >= *leaves_at_;
    if (!join_) return false;
    look();
    if (const auto lease = reports_.lease(view_)) child_.send(*lease);
    if (const auto taken = reports_.name_taken(view_)) child_.send(*taken);
    follow_rig();
    if (const auto duties = reports_.duties(view_, Clock::now())) {
      child_.machine().cluster_watch().on_named(duties->message);
      child_.send(duties->message);
    }
    show();
    return false;
  }

  void work() override {
    if (!join_ || leaves_at_ || Clock::now() < next_keep_alive_) return;
    next_keep_alive_ = Clock::now() + nanoseconds(ClusterModel::ttl) / 3;
    if (!cluster_.answers()) return;
    if (view_.membership.lease == 0 && cluster_.name_is_taken()) {
      view_.membership.stage = MembershipState::Stage::name_taken;
      return;
    }
    if (view_.membership.lease != 0 && !cluster_.keep_alive(view_.membership.lease)) {
      view_.membership = {};
      next_keep_alive_ = Clock::now() + child_.takes(milliseconds(100), milliseconds(500));
      return;
    }
    if (view_.membership.lease == 0) view_.membership.lease = cluster_.join(join_->instance);
    view_.membership.stage = MembershipState::Stage::member;
    view_.membership.effects_end = Clock::now() + ClusterModel::ttl - effect_margin;
  }

  std::string note_fault(std::uint32_t, std::uint64_t) override { return ""; }

  void lie(std::uint64_t which) override {
    if (!join_ || leaves_at_) return;
    child_.machine().checks().on_lie();
    if (which == 0) return child_.send(messages::ClusterRigWritten{"rig.yaml", 1});
    if (which == 1) return child_.send(messages::ClusterLease{to_ns(Clock::now() + std::chrono::hours(2)), 0, {}});
    if (which == 2) return child_.send(messages::Answer{200, nlohmann::json::object(), 4711});
    if (which == 3) return child_.send("duties", {{"cameras", 4}}, {});
    child_.send("packet_ring", nlohmann::json::object(), {});
  }

  [[nodiscard]] std::set<std::string> cameras() const override { return {}; }
  [[nodiscard]] bool leaves_rest() const override { return false; }

 private:
  void on(messages::JoinCluster& join) {
    for (const auto& [camera, fence] : join.duties) view_.duties[camera] = {read_fence(fence).value()};
    cluster_.set_unfit(join.offer.unfit);
    join_ = std::move(join);
    next_keep_alive_ = Clock::now() + child_.takes(milliseconds(5), milliseconds(300));
  }
  void on(const messages::OfferNode& offer) { cluster_.set_unfit(offer.unfit); }
  void on(const messages::PlanCameras&) { cluster_.plan(); }
  void on(const messages::HoldPushes& hold) {
    reports_.set_held(hold.number);
    wants_.emplace(hold.cameras.begin(), hold.cameras.end());
  }
  void on(const messages::RecordedCameras& recorded) {
    recorded_.clear();
    for (const auto& [camera, fence] : recorded.cameras) recorded_[camera] = fence;
  }
  void on(const messages::DrainNode& asked) { refuse(asked.request); }
  void on(const messages::MoveToNode& asked) { refuse(asked.request); }
  void on(const messages::ChangeRig& asked) { refuse(asked.request); }
  void on(const messages::LeaveCluster&) {
    child_.machine().cluster_watch().on_leave(child_.machine().running());
    const bool answers = cluster_.answers();
    if (answers) cluster_.leave();
    leaves_at_ = Clock::now() + (answers ? child_.takes(milliseconds(1), milliseconds(40)) : longest_leave);
  }
  void refuse(std::uint64_t request) {
    child_.send(messages::Answer{409, {{"error", "not in a simulation"}}, request});
  }

  // What it has seen of etcd stays as it was while that does not answer.
  void look() {
    if (cluster_.answers()) {
      view_.plan_is_known = true;
      view_.sees_itself = view_.membership.lease != 0;
      follow_plan();
      follow_pushes();
    }
    view_.effects.clear();
    if (!wants_ || view_.membership.lease == 0) return;
    for (const std::string& camera : pushed_) {
      if (wants_->contains(camera)) view_.effects.insert(camera);
    }
  }

  // As DutyKeeper.
  void follow_plan() {
    NodeDuties next;
    for (const auto& [name, camera] : cluster_.cameras()) {
      const auto before = view_.duties.find(name);
      if (camera.is_here) {
        next[name] = {camera.fence};
        const auto recorded = recorded_.find(name);
        if (recorded != recorded_.end() && recorded->second == text_of(camera.fence)) cluster_.say_recorded(name);
      } else if (before != view_.duties.end() && !camera.is_recorded) {
        next[name] = {before->second.fence, "", other_node, camera.fence};
      }
    }
    view_.duties = std::move(next);
  }

  // As Effects.
  void follow_pushes() {
    pushed_.clear();
    if (!wants_ || view_.membership.lease == 0) return;
    for (const auto& [name, camera] : cluster_.cameras()) {
      const bool wants = wants_->contains(name);
      if (wants) cluster_.claim_push(name);
      if (!wants) cluster_.release_push(name);
      if (camera.pushed_by == ClusterModel::Pushes::this_node) pushed_.insert(name);
    }
  }

  void follow_rig() {
    const bool is_member = view_.membership.stage == MembershipState::Stage::member;
    if (has_sent_rig_ || !view_.plan_is_known || !is_member) return;
    if (!cluster_.has_rig()) cluster_.store_rig();
    has_sent_rig_ = true;
    child_.send(messages::ClusterRigWritten{join_->folder + "/rig.yaml", 1});
  }

  void show() {
    ClusterState state;
    state.cluster = join_->config.name;
    state.node = node_name(join_->config);
    state.planner = other_node;
    state.rig.revision = cluster_.has_rig() ? 1 : 0;
    const bool is_member = view_.membership.stage == MembershipState::Stage::member;
    state.etcd.up = is_member && Clock::now() < view_.membership.effects_end;
    for (const std::string& node : {state.node, std::string(other_node)}) state.nodes[node].here = true;
    for (const auto& [name, duty] : view_.duties)
      state.cameras[name].node = duty.is_leaving() ? other_node : state.node;
    if (std::exchange(seen_, state) != state) child_.send(messages::ClusterSeen{state});
  }

  Child& child_;
  ClusterModel& cluster_;
  NodeReports reports_;
  NodeView view_;
  std::optional<messages::JoinCluster> join_;
  std::optional<std::set<std::string>> wants_;  // whose pushes the node wants; none: it has not said yet
  std::set<std::string> pushed_;                // whose pushes are this node's, as it was seen last
  std::map<std::string, std::string> recorded_;
  bool has_sent_rig_ = false;
  std::optional<ClusterState> seen_;
  Clock::time_point next_keep_alive_{};
  std::optional<Clock::time_point> leaves_at_;
};

}  // namespace

std::unique_ptr<Role> make_cluster(Child& child) { return std::make_unique<ClusterRole>(child); }

}  // namespace campipe::sim
