#include "app/cluster/node_hand_over.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "app/cluster/node_offer.h"

namespace campipe {

namespace {

// By any node: also one of which the plan knows nothing any more, since etcd was restored or has lost its data.
std::set<std::string> cameras_kept(const EtcdMirror& mirror, const ClusterKeys& keys) {
  std::set<std::string> cameras;
  mirror.each_below(keys.all_kept(), [&](std::string_view name, const EtcdKeyValue& value) {
    const auto slash = name.find('/');
    if (value.lease != 0 && slash != std::string_view::npos) cameras.emplace(name.substr(slash + 1));
  });
  return cameras;
}

}  // namespace

std::map<std::string, std::string> NodeHandOver::kept(const NodeDuties& duties, Clock::time_point now) {
  std::map<std::string, std::string> kept;
  std::map<std::string, std::pair<Fence, Clock::time_point>> waits;
  for (const auto& [camera, duty] : duties) {
    if (!duty.is_leaving()) continue;
    const auto before = waits_.find(camera);
    const bool is_same = before != waits_.end() && before->second.first == duty.next;
    const Clock::time_point since = is_same ? before->second.second : now;
    waits[camera] = {duty.next, since};
    if (now - since >= patience) kept[camera] = duty.to;
  }
  waits_ = std::move(waits);
  return kept;
}

std::map<std::string, std::string> NodeHandOver::update(const EtcdMirror& mirror, const MembershipState& membership,
                                                        const NodeDuties& duties, Clock::time_point now,
                                                        OwnKeyChanges& changes) {
  auto kept = this->kept(duties, now);
  if (membership.stage != MembershipState::Stage::member || mirror.revision() == 0) return kept;
  std::map<std::string, std::string> wanted;
  const auto want = [&](const std::string& key, const std::string& fence) {
    wanted[key] = nlohmann::json{{"schema", oldest_cluster_schema}, {"fence", fence}}.dump();
  };
  const std::set<std::string> kept_anywhere = cameras_kept(mirror, keys_);
  for (const auto& [camera, duty] : duties) {
    const auto recorded = recorded_.find(camera);
    const bool is_asked = !duty.is_leaving() && (!duty.from.empty() || kept_anywhere.contains(camera));
    if (is_asked && recorded != recorded_.end() && recorded->second == text_of(duty.fence))
      want(keys_.recorder(node_, camera), recorded->second);
    // A next node whose assignment names none before it, as after a damaged one, is asked at once.
    if (kept.contains(camera) || (duty.is_leaving() && !duty.next_knows))
      want(keys_.kept(node_, camera), text_of(duty.next));
  }
  for (const auto& [key, value] : wanted) {
    const EtcdKeyValue* const there = mirror.find(key);
    const bool is_there = there != nullptr && there->value == value && there->lease == membership.lease;
    if (!is_there) changes.puts.emplace_back(key, value);
  }
  for (const std::string& own : {keys_.recorder(node_, ""), keys_.kept(node_, "")}) {
    mirror.each_below(own, [&](std::string_view, const EtcdKeyValue& value) {
      if (!wanted.contains(value.key)) changes.releases.push_back(value);
    });
  }
  return kept;
}

}  // namespace campipe
