#include "tests/sim/cluster/sim_agent.h"

#include <algorithm>
#include <utility>

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;

constexpr Span look_interval = 200ms;
constexpr Span look_delay = 2ms;
constexpr Span first_join_wait = 100ms;
constexpr Span longest_join_wait = 2s;
constexpr Span forever = 24h;

}  // namespace

SimAgent::SimAgent(World& world, ModelEtcd& etcd, const std::shared_ptr<NodeLink>& link, Options options, Out out)
    : SimLease(world, lease_requests_, lease_fiber_, options.offer),
      world_(world),
      process_(world),
      options_(std::move(options)),
      out_(std::move(out)),
      watch_(process_, etcd, link, [this] { look_soon(); }),
      lease_requests_(process_, etcd, link),
      plan_requests_(process_, etcd, link),
      key_requests_(process_, etcd, link),
      keeper_(options_.keys, options_.ttl, options_.offer.node, options_.offer.instance, *this),
      maker_(options_.keys, options_.ttl),
      logic_(options_.keys, options_.offer.node, options_.offer.instance, options_.duties, options_.last_duties, *this),
      reports_(world.now()),
      lease_fiber_(process_, [this] { keep_lease(); }),
      plan_fiber_(process_, [this] { keep_planning(); }),
      key_fiber_(process_, [this] { keep_writing(); }) {
  lease_requests_.set_fiber(lease_fiber_);
  plan_requests_.set_fiber(plan_fiber_);
  key_requests_.set_fiber(key_fiber_);
  reports_.set_has_last_duties(options_.last_duties.has_value());
  look();
}

SimAgent::~SimAgent() { process_.kill(); }

void SimAgent::on_offer(NodeOffer offer) {
  offer.node = options_.offer.node;
  offer.instance = options_.offer.instance;
  if (offer != current_offer()) offer_anew(std::move(offer));
}

void SimAgent::on_cameras(std::vector<ClusterCamera> cameras) { logic_.set_cameras(std::move(cameras)); }

void SimAgent::on_recorded(std::map<std::string, std::string> fences, bool has_files) {
  logic_.set_recorded(std::move(fences));
  if (has_files) logic_.hold_recordings();
  look_soon();
}

void SimAgent::on_hold(const messages::HoldPushes& hold) {
  reports_.set_held(hold.number);
  logic_.want_effects({hold.cameras.begin(), hold.cameras.end()});
  look_soon();
}

void SimAgent::on_leave() {
  is_ending_ = true;
  lease_fiber_.wake();
}

void SimAgent::plan(PlanSnapshot snapshot) {
  next_plan_ = std::move(snapshot);
  rests_ = false;
  plan_fiber_.wake();
}

void SimAgent::rest() {
  next_plan_.reset();
  rests_ = true;
  made_ = {};
  plan_fiber_.wake();
}

PlanMade SimAgent::planned() {
  PlanMade taken = made_;
  made_.moves.clear();
  return taken;
}

void SimAgent::write(OwnKeyChanges changes) {
  next_write_ = std::move(changes);
  writes_.begin();
  key_fiber_.wake();
}

Clock::duration SimAgent::join_wait(int tried) {
  const Span longest = std::min<Span>(longest_join_wait, first_join_wait * (1 << std::min(tried, 5)));
  return world_.random().between(longest * 4 / 5, longest * 6 / 5);
}

void SimAgent::set_state(const MembershipState& state) {
  if (state == last_state()) return;
  SimLease::set_state(state);
  look_soon();
}

void SimAgent::keep_lease() {
  keeper_.run();
  lease_requests_.set_deadline(now() + 1500ms);
  keeper_.leave(lease_requests_);
  world_.at(world_.now(), out_.has_left);
}

void SimAgent::keep_planning() {
  while (true) {
    while (!next_plan_ && !rests_ && !(maker_.due() && now() >= *maker_.due()))
      plan_fiber_.wait_until(maker_.due().value_or(now() + forever));
    const bool is_due = maker_.take(std::exchange(next_plan_, std::nullopt), std::exchange(rests_, false), now());
    if (!is_due) continue;
    PlanMade made = maker_.carry_out(plan_requests_, [this] { return now(); });
    out_.planned(maker_.snapshot(), made);
    if (rests_) continue;
    made_.waited_for = std::move(made.waited_for);
    made_.problem = std::move(made.problem);
    std::ranges::move(made.moves, std::back_inserter(made_.moves));
    look_soon();
  }
}

void SimAgent::keep_writing() {
  while (true) {
    while (!next_write_) key_fiber_.wait_until(now() + forever);
    const OwnKeyChanges changes = *std::exchange(next_write_, std::nullopt);
    writes_.end(write_own_keys(key_requests_, changes), now());
  }
}

void SimAgent::look_soon() {
  if (std::exchange(looks_soon_, true)) return;
  process_.soon(look_delay, [this] {
    looks_soon_ = false;
    const NodeView& view = logic_.update(now());
    if (is_ending_) return;
    if (const auto lease = reports_.lease(view)) out_.lease(*lease);
    if (const auto taken = reports_.name_taken(view)) out_.name_taken(*taken);
    if (const auto duties = reports_.duties(view, now())) {
      if (!duties->are_the_last) out_.save_duties(view.duties);
      out_.duties(duties->message);
    }
    logic_.take_moves();
  });
}

void SimAgent::look() {
  process_.soon(look_interval, [this] { look(); });
  watch_.look();
  look_soon();
}

}  // namespace campipe::sim
