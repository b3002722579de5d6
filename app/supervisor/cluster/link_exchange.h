// What this node and the others of its cluster tell each other about links: keys, transports, and where the links are
// listened for that they receive. They do so through their doors, of which the publisher asks those that are named
// here. This node's keys are made with it, so that one that was restarted is known by another key.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/control/messages/links.h"
#include "app/control/messages/shared_links.h"
#include "app/placement/link_choice.h"
#include "app/supervisor/cluster/cluster_control.h"
#include "app/supervisor/port/port.h"
#include "app/supervisor/processes/processes.h"

namespace campipe {

struct LinkCounts;
struct ClusterLinksConfig;

class LinkExchange {
 public:
  LinkExchange(RigState& rig, Processes& processes, const ClusterControl& control, Port& port);

  // For the process that has the ends of links.
  [[nodiscard]] messages::LinkIdentity identity() const { return {public_key_, secret_key_}; }
  [[nodiscard]] bool encrypts() const { return config().encrypt; }

  // ---- Several times a second: what is needed from now on, in any order, and then share()
  // Links to that node, or from it.
  void ask(const std::string& node);
  // One that this node listens for.
  void offer(messages::OfferedLinks::Link link) { next_.own.links.push_back(std::move(link)); }
  void share();
  // A new publisher.
  void share_again() { shared_.reset(); }

  // Null: it has not told yet, or the two do not agree on encryption. Valid until the next on().
  [[nodiscard]] const messages::OfferedLinks* offered_by(const std::string& node) const;
  // By which a link with that node goes, which has offered that. Nothing: it is not known yet, or there is none that
  // both have, which is logged once. `sends`: this node does.
  std::optional<LinkTransport> transport_with(const std::string& peer, const messages::OfferedLinks& offered,
                                              bool sends);
  // The cluster has that node, as far as this one has seen.
  [[nodiscard]] bool knows(const std::string& node) const { return control_.seen().nodes.contains(node); }
  // To that port of another node; empty: the node is not known.
  [[nodiscard]] std::string address_of(const std::string& node, unsigned port) const;
  // A link to this node, of that name, from the node that has offered that.
  [[nodiscard]] messages::ReceiveLink receive(EdgeId edge, const std::string& name, const std::string& peer_key,
                                              LinkTransport transport) const;

  // ---- Of a stage's or tile's two links, on either node. `peer`: the other one, which has offered `offered`.
  // Offers the one that the process listens for, by its name, once it does.
  void offer(const StageLinks& links, const std::string& name);
  // Sends the process where frames of `link` are to go, by its name, if that is known and news.
  void follow_sending(StageLinks& links, ManagedProcess& process, messages::SendLink link, const std::string& peer,
                      const messages::OfferedLinks& offered);

  // Throws BadMessage for what no node can offer.
  void on(const messages::PeerLinks& links);
  void on(const messages::LinkTransports& transports);

 private:
  [[nodiscard]] LinkOptions own_options() const;
  [[nodiscard]] const ClusterLinksConfig& config() const;

  RigState& rig_;
  Processes& processes_;
  const ClusterControl& control_;
  std::string public_key_;
  std::string secret_key_;
  std::map<std::string, messages::OfferedLinks> offered_;  // by node
  messages::ShareLinks next_;
  std::optional<messages::ShareLinks> shared_;          // as the publisher knows it
  std::optional<messages::LinkTransports> transports_;  // none: no process has said yet
  std::set<std::string> without_transport_;             // nodes with which there is none in common
};

// Of the status. `link`: what it is for: `mosaic`, `camera` and `part`.
nlohmann::json link_status(nlohmann::json link, const std::string& peer, bool sends, LinkTransport transport,
                           bool encrypted, bool connected, const LinkCounts& counts);

// Null: there is none of that name.
const messages::OfferedLinks::Link* find_link(const messages::OfferedLinks& offered, const std::string& name);

}  // namespace campipe
