// Which node plans, as a mirror of the cluster's keys shows it: of those that would, the one that was there first. It
// is decided by etcd's revisions, so all see the same; and since what it writes compares its Candidacy, a node that
// still believes to plan when it does not any more changes nothing. A key counts as long as its node is there: one that
// was left behind, without a lease or under another one, would never go, and its node would never plan.
#pragma once

#include <optional>
#include <string>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/membership_state.h"

namespace campipe {

struct ElectedPlanner {
  std::string node;
  Candidacy candidacy;
};

// Nothing: nobody would plan.
inline std::optional<ElectedPlanner> elected_planner(const EtcdMirror& mirror, const ClusterKeys& keys) {
  std::optional<ElectedPlanner> first;
  mirror.each_below(keys.planners(), [&](std::string_view node, const EtcdKeyValue& value) {
    const EtcdKeyValue* const offer = mirror.find(keys.node(std::string(node)));
    const bool is_there = value.lease != 0 && offer != nullptr && offer->lease == value.lease;
    if (!is_there || (first && first->candidacy.create_revision < value.create_revision)) return;
    first = ElectedPlanner{std::string(node), {value.key, value.create_revision}};
  });
  return first;
}

}  // namespace campipe
