// The nodes of a cluster that are there, with what they offer, as a mirror of etcd's keys has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/node_offer.h"

namespace campipe {

// Calls visit(const std::string& node, std::optional<NodeOffer> offer) for each node, by name; nothing: its offer is
// unreadable. An offer without a lease is of no node: it would never go.
template <typename Visit>
void each_offer(const EtcdMirror& mirror, const ClusterKeys& keys, const Visit& visit) {
  mirror.each_below(keys.nodes(), [&](std::string_view name, const EtcdKeyValue& value) {
    if (value.lease == 0) return;
    const std::string node(name);
    visit(node, read_offer(node, value.value));
  });
}

}  // namespace campipe
