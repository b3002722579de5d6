#include "app/supervisor/cluster/link_exchange.h"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "app/config/address.h"
#include "app/config/link_transport.h"
#include "app/config/rig_settings.h"
#include "app/control/link_keys.h"
#include "app/control/offered_links.h"
#include "core/log.h"
#include "ipc/link_counts.h"

namespace campipe {
namespace {

// "10.0.0.1" of "10.0.0.1:8443", with the brackets of IPv6.
std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

bool asks_for_ucx(const ClusterLinksConfig& config) {
  return std::ranges::find(config.transports, LinkTransport::ucx) != config.transports.end();
}

}  // namespace

const messages::OfferedLinks::Link* find_link(const messages::OfferedLinks& offered, const std::string& name) {
  const auto found = std::ranges::find(offered.links, name, &messages::OfferedLinks::Link::name);
  return found == offered.links.end() ? nullptr : &*found;
}

nlohmann::json link_status(nlohmann::json link, const std::string& peer, bool sends, LinkTransport transport,
                           bool encrypted, bool connected, const LinkCounts& counts) {
  link.update({{"peer", peer},
               {"direction", sends ? "sends" : "receives"},
               {"transport", choice_name(transport)},
               {"encrypted", encrypted},
               {"connected", connected},
               {"connections", counts.connections.load()},
               {"refused", counts.refused.load()},
               {"frames", sends ? counts.taken.load() : counts.settled.load()},
               {"delivered", counts.delivered.load()},
               {"dropped", counts.dropped.load()},
               {"lost", counts.lost.load()},
               {"bytes", counts.bytes.load()}});
  return link;
}

LinkExchange::LinkExchange(RigState& rig, Processes& processes, const ClusterControl& control, Port& port)
    : rig_(rig), processes_(processes), control_(control) {
  if (!rig_.settings().cluster) return;
  LinkKey public_key;
  LinkKey secret_key;
  static_assert(crypto_box_PUBLICKEYBYTES == sizeof public_key && crypto_box_SECRETKEYBYTES == sizeof secret_key);
  const std::vector<unsigned char> seed = port.random_bytes(crypto_box_SEEDBYTES);
  crypto_box_seed_keypair(public_key.data(), secret_key.data(), seed.data());
  public_key_ = text_of(public_key);
  secret_key_ = text_of(secret_key);
}

const ClusterLinksConfig& LinkExchange::config() const { return rig_.settings().cluster->links; }

void LinkExchange::ask(const std::string& node) {
  if (std::ranges::find(next_.ask, node) == next_.ask.end()) next_.ask.push_back(node);
}

void LinkExchange::share() {
  if (!rig_.settings().cluster) return;
  messages::ShareLinks shares = std::exchange(next_, {});
  shares.own.key = public_key_;
  shares.own.encrypted = encrypts();
  shares.own.transports = own_options().transports;
  shares.own.rdma = transports_ && transports_->rdma;
  if (shared_ == shares || !processes_.send(processes_.publisher(), shares)) return;
  shared_ = std::move(shares);
}

const messages::OfferedLinks* LinkExchange::offered_by(const std::string& node) const {
  const auto found = offered_.find(node);
  return found == offered_.end() || found->second.encrypted != encrypts() ? nullptr : &found->second;
}

std::string LinkExchange::address_of(const std::string& node, unsigned port) const {
  const auto found = control_.seen().nodes.find(node);
  if (found == control_.seen().nodes.end()) return "";
  return host_of(found->second.address) + ":" + std::to_string(port);
}

messages::ReceiveLink LinkExchange::receive(EdgeId edge, const std::string& name, const std::string& peer_key,
                                            LinkTransport transport) const {
  const ClusterConfig& cluster = *rig_.settings().cluster;
  messages::ReceiveLink message;
  message.edge = edge;
  message.name = name;
  message.host = host_of(cluster.address);
  if (const auto ports = parse_port_range(cluster.links.ports)) {
    message.first_port = ports->first;
    message.last_port = ports->last;
  }
  message.encrypted = encrypts();
  message.transport = transport;
  message.peer_key = peer_key;
  return message;
}

void LinkExchange::offer(const StageLinks& links, const std::string& name) {
  if (links.listens != 0) offer({name, links.listens, links.listens_by});
}

void LinkExchange::follow_sending(StageLinks& links, ManagedProcess& process, messages::SendLink link,
                                  const std::string& peer, const messages::OfferedLinks& offered) {
  const auto* const its = find_link(offered, link.name);
  if (its == nullptr || (its->port == links.sends_to && its->transport == links.sends_by)) return;
  link.address = address_of(peer, its->port);
  if (link.address.empty()) return;
  link.peer_key = offered.key;
  link.encrypted = encrypts();
  link.transport = its->transport;
  link.again = links.again;
  if (!processes_.send(process, link)) return;
  links.sends_to = its->port;
  links.sends_by = its->transport;
}

void LinkExchange::on(const messages::PeerLinks& links) {
  const bool is_asked = shared_ && std::ranges::find(shared_->ask, links.peer) != shared_->ask.end();
  // The publisher has looked at what the node said.
  if (links.offered.key.empty() || !is_possible(links.offered)) throw BadMessage("links that cannot be");
  if (!is_asked) return;  // that was before
  messages::OfferedLinks& known = offered_[links.peer];
  if (links.offered.encrypted != encrypts() && links.offered.key != known.key)
    spdlog::error("no links to node '{}': `cluster.links.encrypt` is {} there, and {} here", links.peer,
                  links.offered.encrypted, encrypts());
  known = links.offered;
}

void LinkExchange::on(const messages::LinkTransports& transports) {
  if (transports_ == transports) return;  // of the process before
  transports_ = transports;
  if (!asks_for_ucx(config()) || transports.problem_of_ucx.empty()) return;
  const bool has_other = !own_options().transports.empty();
  spdlog::log(has_other ? spdlog::level::warn : spdlog::level::err, "`cluster.links.transports` asks for ucx: {}{}",
              transports.problem_of_ucx, has_other ? "" : "; this node has no links");
}

// Of one that does not know yet: without transports.
LinkOptions LinkExchange::own_options() const {
  return transports_ ? link_options(config(), transports_->usable, transports_->rdma) : LinkOptions();
}

std::optional<LinkTransport> LinkExchange::transport_with(const std::string& peer,
                                                          const messages::OfferedLinks& offered, bool sends) {
  const LinkOptions own = own_options();
  const LinkOptions its{offered.transports, offered.rdma};
  const auto chosen = sends ? link_transport(its, own) : link_transport(own, its);
  const bool is_known = !own.transports.empty() && !its.transports.empty();
  if (chosen || !is_known) {
    without_transport_.erase(peer);
  } else if (without_transport_.insert(peer).second) {
    spdlog::error("no links with node '{}': they could go by {} there, and by {} here; see `cluster.links` of both",
                  peer, names_of(its.transports), names_of(own.transports));
  }
  return chosen;
}

}  // namespace campipe
