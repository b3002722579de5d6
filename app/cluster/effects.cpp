#include "app/cluster/effects.h"

#include <nlohmann/json.hpp>

#include "app/cluster/node_offer.h"

namespace campipe {

std::set<std::string> Effects::update(const EtcdMirror& mirror, const MembershipState& membership,
                                      const NodeDuties& duties, OwnKeyChanges& changes) {
  if (!wanted_ || membership.stage != MembershipState::Stage::member || mirror.revision() == 0) return {};
  std::set<std::string> held;
  std::erase_if(released_, [&](const auto& released) {
    const EtcdKeyValue* const there = mirror.find(released.first);
    return there == nullptr || there->create_revision != released.second;
  });
  mirror.each_below(keys_.effects(), [&](std::string_view name, const EtcdKeyValue& value) {
    // One without a lease is left over, and would keep all nodes from pushing for ever.
    if (value.lease == 0) changes.releases.push_back(value);
    if (value.lease != membership.lease) return;
    const std::string camera(name);
    const bool is_released = released_.contains({value.key, value.create_revision});
    const bool is_held = wanted_->contains(camera) && !is_released;
    if (is_held) held.insert(camera);
    if (!is_held) changes.releases.push_back(value);
  });
  for (const std::string& camera : *wanted_) {
    if (mirror.find(keys_.effect(camera)) != nullptr) continue;
    const auto duty = duties.find(camera);
    const nlohmann::json value{{"schema", oldest_cluster_schema},
                               {"node", node_},
                               {"fence", duty == duties.end() ? "" : text_of(duty->second.fence)}};
    changes.claims.emplace_back(keys_.effect(camera), value.dump());
  }
  return held;
}

void Effects::on_written(const OwnKeyChanges& changes) {
  for (const EtcdKeyValue& key : changes.releases) {
    if (key.key.starts_with(keys_.effects())) released_.emplace(key.key, key.create_revision);
  }
}

}  // namespace campipe
