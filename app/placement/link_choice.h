// By what frames go from one node of a cluster to another. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/link_transport.h"

namespace campipe {

struct ClusterLinksConfig;

// What a node may use for links.
struct LinkOptions {
  std::vector<LinkTransport> transports;  // the best first
  bool rdma = false;                      // UCX has an RDMA device there
  bool is_auto = false;                   // its configuration leaves the choice to campipe
  friend bool operator==(const LinkOptions&, const LinkOptions&) = default;
};

// `usable`: what the machine has, the best first. UCX does not encrypt.
LinkOptions link_options(const ClusterLinksConfig& config, const std::vector<LinkTransport>& usable, bool rdma);
// The node that receives chooses. Nothing: they have none in common.
std::optional<LinkTransport> link_transport(const LinkOptions& to, const LinkOptions& from);
// "ucx, zeromq"; "none"
std::string names_of(const std::vector<LinkTransport>& transports);

}  // namespace campipe
