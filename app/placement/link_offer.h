// What a node offers for links, as it stands in its offer to the cluster, and what two nodes make of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/control/messages/links_found.h"
#include "app/placement/link_choice.h"

namespace campipe {

struct ClusterLinksConfig;

struct LinkOffer {
  LinkOptions options;
  bool encrypts = true;
  messages::LinksFound found;
};

LinkOffer link_offer(const ClusterLinksConfig& config, const messages::LinksFound& found);
nlohmann::json to_json(const LinkOffer& offer);
// Nothing: it is none, such as that of an older version.
std::optional<LinkOffer> link_offer_from_json(const nlohmann::json& json);

// "zeromq; ucx 1.13.1 (mlx5_0:1, tcp)", "zeromq; no ucx: campipe was built without UCX"
std::string describe(const messages::LinksFound& found);
// What frames from one node to another go by: "zeromq, encrypted", "ucx", "none: " and why.
std::string describe_link(const LinkOffer& from, const LinkOffer& to);

}  // namespace campipe
