#include "app/placement/link_offer.h"
#include "app/config/cluster_config.h"
#include "app/config/link_transport.h"

#include <nlohmann/json.hpp>

namespace campipe {

using nlohmann::json;

LinkOffer link_offer(const ClusterLinksConfig& config, const messages::LinksFound& found) {
  std::vector<LinkTransport> usable{LinkTransport::zeromq};
  if (!found.ucx.empty()) usable.insert(usable.begin(), LinkTransport::ucx);
  return {link_options(config, usable, !found.rdma.empty()), config.encrypt, found};
}

json to_json(const LinkOffer& offer) {
  json transports = json::array();
  for (const LinkTransport transport : offer.options.transports) transports.push_back(choice_name(transport));
  return {{"transports", std::move(transports)},
          {"auto", offer.options.is_auto},
          {"encrypt", offer.encrypts},
          {"ucx", offer.found.ucx},
          {"problem_of_ucx", offer.found.problem_of_ucx},
          {"rdma", offer.found.rdma}};
}

std::optional<LinkOffer> link_offer_from_json(const json& from) try {
  LinkOffer offer;
  for (const json& name : from.at("transports")) {
    // Those of a newer version are none that this one could use.
    if (const auto transport = find_choice<LinkTransport>(name.get<std::string>()))
      offer.options.transports.push_back(*transport);
  }
  offer.options.is_auto = from.at("auto");
  offer.encrypts = from.at("encrypt");
  offer.found.ucx = from.at("ucx");
  offer.found.problem_of_ucx = from.at("problem_of_ucx");
  offer.found.rdma = from.at("rdma").get<std::vector<std::string>>();
  offer.options.rdma = !offer.found.rdma.empty();
  return offer;
} catch (const json::exception&) {
  return std::nullopt;
}

std::string describe(const messages::LinksFound& found) {
  if (found.ucx.empty()) return "zeromq; no ucx: " + found.problem_of_ucx;
  std::string by;
  for (const std::string& port : found.rdma) by += port + ", ";
  return "zeromq; ucx " + found.ucx + " (" + by + "tcp)";
}

std::string describe_link(const LinkOffer& from, const LinkOffer& to) {
  if (from.encrypts != to.encrypts) return "none: `cluster.links.encrypt` is not the same on both";
  const auto transport = link_transport(to.options, from.options);
  if (!transport)
    return "none: one may use " + names_of(from.options.transports) + ", the other " + names_of(to.options.transports);
  return std::string(choice_name(*transport)) + (to.encrypts ? ", encrypted" : "");
}

}  // namespace campipe
