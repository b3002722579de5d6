#include "app/cluster/node_reports.h"

#include <utility>

namespace campipe {

std::optional<messages::ClusterLease> NodeReports::lease(const NodeView& view) {
  const MembershipState& membership = view.membership;
  const bool is_member = membership.stage == MembershipState::Stage::member;
  was_member_ = was_member_ || is_member;
  // Keys that are older than the lease may assign cameras that another node runs by now.
  const Clock::time_point until = is_member && view.sees_itself ? membership.effects_end : lease_until_;
  const bool is_same = until == lease_until_ && view.effects == may_push_ && held_ == answered_;
  if (!was_member_ || is_same) return std::nullopt;
  lease_until_ = until;
  may_push_ = view.effects;
  answered_ = held_;
  return messages::ClusterLease{to_ns(until), held_, {may_push_.begin(), may_push_.end()}};
}

std::optional<messages::NodeNameTaken> NodeReports::name_taken(const NodeView& view) {
  const bool is_taken = view.membership.stage == MembershipState::Stage::name_taken || view.name_is_lost;
  if (std::exchange(name_is_taken_, is_taken) == is_taken || !is_taken) return std::nullopt;
  duties_.reset();  // so that they are sent again once this node is a member
  const std::string& problem = view.membership.problem;
  return messages::NodeNameTaken{problem.empty() ? "another campipe runs as this node of the cluster now" : problem};
}

// Only what a member sees counts: before, the cameras of its name may be another start's.
std::optional<NodeReports::Duties> NodeReports::duties(const NodeView& view, Clock::time_point now) {
  const bool runs_the_last =
      has_last_duties_ && !was_member_ && !view.plan_is_known && !name_is_taken_ && now - began_ > etcd_is_missing;
  const bool counts = was_member_ && view.plan_is_known && !name_is_taken_;
  if (!counts && !runs_the_last) return std::nullopt;
  std::vector<messages::ClusterDuties::Duty> cameras;
  for (const auto& [camera, duty] : view.duties) cameras.push_back({camera, text_of(duty.fence), duty.is_leaving()});
  if (duties_ == cameras) return std::nullopt;
  duties_ = cameras;
  return Duties{{std::move(cameras)}, runs_the_last};
}

}  // namespace campipe
