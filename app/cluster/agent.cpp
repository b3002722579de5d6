#include "app/cluster/agent.h"

#include <algorithm>
#include <utility>

#include "app/cluster/node_offers.h"

namespace campipe {
namespace {

constexpr auto restored =
    "etcd has an older plan than this node has seen, or none: it was restored from a backup, or has lost its data. "
    "What "
    "runs goes on, and nothing is planned until `campipe cluster apply --restored FILE` says that it counts";

}  // namespace

ClusterAgent::ClusterAgent(Options options)
    : keys_(options.cluster),
      node_(options.offer.node),
      watch_({options.servers, keys_.prefix(), options.silence}),
      membership_({options.servers, keys_, options.ttl}, std::move(options.offer)),
      planning_(options.servers, keys_, options.ttl),
      keeper_(node_, std::move(options.duties)),
      effects_(keys_, node_),
      hand_over_(keys_, node_),
      own_keys_(options.servers) {
  if (options.last_duties) view_.duties = *std::move(options.last_duties);
}

ClusterAgent::~ClusterAgent() = default;

std::vector<pollfd> ClusterAgent::fds() const {
  return {{watch_.fd(), POLLIN, 0}, {membership_.fd(), POLLIN, 0}, {planning_.fd(), POLLIN, 0}};
}

void ClusterAgent::set_cameras(std::vector<ClusterCamera> cameras) {
  cameras_ = std::move(cameras);
  cameras_are_new_ = true;
}

std::vector<ClusterPlanner::Move> ClusterAgent::take_moves() { return std::exchange(moves_, {}); }

// True: the mirror has changed.
bool ClusterAgent::follow() {
  const std::vector<EtcdNews> all = watch_.take();
  for (const EtcdNews& news : all) mirror_.apply(news);
  if (all.empty()) return false;
  view_.plan = read_plan(mirror_, keys_);
  follow_rig();
  view_.nodes.clear();
  each_offer(mirror_, keys_, [&](const std::string& node, std::optional<NodeOffer> offer) {
    if (offer) view_.nodes[node] = *std::move(offer);
  });
  const auto elected = elected_planner(mirror_, keys_);
  view_.planner = elected ? elected->node : "";
  return true;
}

// It is a megabyte at most, whose digest is computed: not with every other news.
void ClusterAgent::follow_rig() {
  const EtcdKeyValue* const pointer = mirror_.find(keys_.rig());
  const std::int64_t revision = pointer == nullptr ? 0 : pointer->mod_revision;
  if (revision != view_.rig.revision || !view_.rig.problem.empty()) view_.rig = read_rig(mirror_, keys_);
}

void ClusterAgent::plan_if_elected(bool is_news, Clock::time_point now) {
  const auto elected = elected_planner(mirror_, keys_);
  const MembershipState& own = view_.membership;
  const bool plans = elected && own.stage == MembershipState::Stage::member && elected->candidacy == own.candidacy &&
                     now < own.effects_end && cameras_ && !keeper_.plan_is_older();
  if (!plans) {
    if (planning_as_) planning_.rest();
    planning_as_.reset();
    return;
  }
  const bool is_new = planning_as_ != own.candidacy;
  if (!is_news && !is_new && !std::exchange(cameras_are_new_, false)) return;
  planning_as_ = own.candidacy;
  cameras_are_new_ = false;
  planning_.plan({own.candidacy, mirror_, *cameras_});
}

void ClusterAgent::write_own_keys(Clock::time_point now) {
  OwnKeys::Changes changes{view_.membership.lease};
  view_.effects = effects_.update(mirror_, view_.membership, view_.duties, changes);
  view_.kept = hand_over_.update(mirror_, view_.membership, view_.duties, now, changes);
  const bool is_member = view_.membership.stage == MembershipState::Stage::member && mirror_.revision() > 0;
  if (is_member && holds_recordings_ && mirror_.find(keys_.holder(node_)) == nullptr)
    changes.lasting.emplace_back(keys_.holder(node_), R"({"schema":1})");
  if (changes.empty() || !own_keys_.is_ready(mirror_.revision())) return;
  effects_.on_written(changes);
  own_keys_.write(std::move(changes));
}

const ClusterAgent::View& ClusterAgent::update(Clock::time_point now) {
  view_.membership = membership_.state();
  const bool is_news = follow();
  if (!view_.plan.damage.empty()) view_.plan = read_plan(mirror_, keys_);  // this node's clock may have been set
  if (mirror_.revision() > 0) {
    const NodeDuties& duties = keeper_.update(view_.plan, mirror_, keys_);
    view_.plan_is_known = !keeper_.plan_is_older();
    view_.refused = keeper_.refused();
    // Of an older plan, a node that has just started has nothing but its last duties.
    if (view_.plan_is_known) view_.duties = duties;
  }
  plan_if_elected(is_news, now);
  Planning::Result planned = planning_.take();
  std::ranges::move(planned.moves, std::back_inserter(moves_));

  write_own_keys(now);
  view_.problem = view_.membership.problem;
  if (view_.problem.empty() && keeper_.plan_is_older())
    view_.problem = view_.plan.damage.empty() ? restored : view_.plan.damage;
  for (std::string other : {watch_.problem(), std::move(planned.problem), own_keys_.problem()}) {
    if (view_.problem.empty()) view_.problem = std::move(other);
  }
  return view_;
}

}  // namespace campipe
