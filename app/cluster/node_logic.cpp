#include "app/cluster/node_logic.h"

#include <algorithm>
#include <utility>

#include "app/cluster/node_offers.h"

namespace campipe {
namespace {

constexpr auto restored =
    "etcd has an older plan than this node has seen, or none: it was restored from a backup, or has lost its data. "
    "What runs goes on, and nothing is planned until `campipe cluster apply --restored FILE` says that it counts";

}  // namespace

NodeLogic::NodeLogic(ClusterKeys keys, std::string node, std::string instance, NodeDuties duties,
                     std::optional<NodeDuties> last_duties, NodeParts& parts)
    : keys_(std::move(keys)),
      node_(std::move(node)),
      instance_(std::move(instance)),
      parts_(parts),
      keeper_(node_, std::move(duties)),
      effects_(keys_, node_),
      hand_over_(keys_, node_) {
  if (last_duties) view_.duties = *std::move(last_duties);
}

void NodeLogic::set_cameras(std::vector<ClusterCamera> cameras) {
  cameras_ = std::move(cameras);
  cameras_are_new_ = true;
}

std::vector<ClusterPlanner::Move> NodeLogic::take_moves() { return std::exchange(moves_, {}); }

// True: the mirror has changed.
bool NodeLogic::follow() {
  const std::vector<EtcdNews> all = parts_.news();
  bool is_of_plan = false;
  bool is_of_nodes = false;
  for (const EtcdNews& news : all) {
    mirror_.apply(news);
    const auto has = [&](const std::string& prefix) {
      return news.anew || std::ranges::any_of(
                              news.events, [&](const EtcdEvent& event) { return event.value.key.starts_with(prefix); });
    };
    is_of_plan = is_of_plan || has(keys_.plan());
    is_of_nodes = is_of_nodes || has(keys_.nodes());
  }
  if (all.empty()) return false;
  // A plan of 10,000 cameras takes 50 ms to be read.
  if (is_of_plan) view_.plan = read_plan(mirror_, keys_);
  follow_rig();
  if (is_of_nodes) {
    view_.nodes.clear();
    each_offer(mirror_, keys_, [&](const std::string& node, std::optional<NodeOffer> offer) {
      if (offer) view_.nodes[node] = *std::move(offer);
    });
  }
  const auto elected = elected_planner(mirror_, keys_);
  view_.planner = elected ? elected->node : "";
  return true;
}

// It is a megabyte at most, whose digest is computed: not with every other news.
void NodeLogic::follow_rig() {
  const EtcdKeyValue* const pointer = mirror_.find(keys_.rig());
  const std::int64_t revision = pointer == nullptr ? 0 : pointer->mod_revision;
  if (revision != view_.rig.revision || !view_.rig.problem.empty()) view_.rig = read_rig(mirror_, keys_);
}

// An older offer of its name is that of a start before it: it is just joining, or etcd was restored from a backup.
void NodeLogic::look_for_itself() {
  const EtcdKeyValue* const own = mirror_.find(keys_.node(node_));
  view_.sees_itself = own != nullptr && own->lease != 0 && own->lease == view_.membership.lease;
  if (view_.sees_itself) offer_created_ = own->create_revision;
  const auto offer = view_.nodes.find(node_);
  const bool is_newer = own != nullptr && offer_created_ != 0 && own->create_revision > offer_created_;
  view_.name_is_lost = is_newer && offer != view_.nodes.end() && offer->second.instance != instance_;
}

void NodeLogic::plan_if_elected(bool is_news, Clock::time_point now) {
  const auto elected = elected_planner(mirror_, keys_);
  const MembershipState& own = view_.membership;
  const bool plans = elected && own.stage == MembershipState::Stage::member && elected->candidacy == own.candidacy &&
                     now < own.effects_end && cameras_ && !keeper_.plan_is_older();
  if (!plans) {
    if (planning_as_) parts_.rest();
    planning_as_.reset();
    return;
  }
  const bool is_new = planning_as_ != own.candidacy;
  if (!is_news && !is_new && !std::exchange(cameras_are_new_, false)) return;
  planning_as_ = own.candidacy;
  cameras_are_new_ = false;
  parts_.plan({own.candidacy, mirror_, *cameras_});
}

void NodeLogic::write_own_keys(Clock::time_point now) {
  OwnKeyChanges changes{view_.membership.lease};
  view_.effects = effects_.update(mirror_, view_.membership, view_.duties, changes);
  view_.kept = hand_over_.update(mirror_, view_.membership, view_.duties, now, changes);
  const bool is_member = view_.membership.stage == MembershipState::Stage::member && mirror_.revision() > 0;
  if (is_member && holds_recordings_ && mirror_.find(keys_.holder(node_)) == nullptr)
    changes.lasting.emplace_back(keys_.holder(node_), R"({"schema":1})");
  if (changes.empty() || !parts_.may_write(mirror_.revision())) return;
  effects_.on_written(changes);
  parts_.write(std::move(changes));
}

const NodeView& NodeLogic::update(Clock::time_point now) {
  view_.membership = parts_.membership();
  const bool is_news = follow();
  look_for_itself();
  if (!view_.plan.damage.empty()) view_.plan = read_plan(mirror_, keys_);  // this node's clock may have been set
  if (mirror_.revision() > 0) {
    const NodeDuties& duties = keeper_.update(view_.plan, mirror_, keys_);
    view_.plan_is_known = !keeper_.plan_is_older();
    view_.refused = keeper_.refused();
    // Until the plan is known, a node that has just started runs its last duties.
    if (view_.plan_is_known) view_.duties = duties;
  }
  plan_if_elected(is_news, now);
  PlanMade planned = parts_.planned();
  std::ranges::move(planned.moves, std::back_inserter(moves_));

  write_own_keys(now);
  view_.problem = view_.membership.problem;
  if (view_.problem.empty() && keeper_.plan_is_older())
    view_.problem = view_.plan.damage.empty() ? restored : view_.plan.damage;
  for (std::string other : {parts_.news_problem(), std::move(planned.problem), parts_.write_problem()}) {
    if (view_.problem.empty()) view_.problem = std::move(other);
  }
  return view_;
}

}  // namespace campipe
