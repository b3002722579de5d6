#include "app/cluster/plan_maker.h"

#include <algorithm>
#include <utility>

namespace campipe {
namespace {

constexpr auto write_again = std::chrono::seconds(1);  // where etcd could not be written to

}  // namespace

bool PlanMaker::take(std::optional<PlanSnapshot> next, bool rests, Clock::time_point now) {
  if (rests) {
    snapshot_.reset();
    planner_.reset();
  }
  const bool is_due = next.has_value() || (look_again_ && now >= *look_again_);
  if (next) snapshot_ = std::move(next);
  return snapshot_ && is_due;
}

std::optional<Clock::time_point> PlanMaker::due() const { return snapshot_ ? look_again_ : std::nullopt; }

PlanMade PlanMaker::carry_out(EtcdRequests& etcd, const std::function<Clock::time_point()>& now) {
  if (!planner_ || planner_is_ != snapshot_->candidacy) planner_.emplace(lease_);
  planner_is_ = snapshot_->candidacy;
  const StoredPlan stored = read_plan(snapshot_->mirror, keys_);
  ClusterPlanner::Decision decision = planner_->decide(snapshot_->mirror, keys_, stored, snapshot_->cameras, now());
  PlanWriteResult written = write_plan(etcd, keys_, snapshot_->candidacy, stored, decision.wanted);
  look_again_ = decision.look_again;
  // The snapshot may be the newest one all the same. Where it is old, the next one comes by itself.
  const bool is_in_trouble = written.outcome == PlanWritten::failed || written.outcome == PlanWritten::unknown;
  if (is_in_trouble) look_again_ = std::min(now() + write_again, look_again_.value_or(Clock::time_point::max()));
  PlanMade made{{}, std::move(decision.waited_for), {}};
  if (is_in_trouble) made.problem = std::move(written.message);
  if (written.outcome == PlanWritten::done) made.moves = std::move(decision.moves);
  return made;
}

}  // namespace campipe
