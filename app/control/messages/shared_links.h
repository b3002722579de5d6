// What nodes tell each other of their links, through their doors: messages to and from the publisher, whose servers
// have these (app/control/messages/parts.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/cluster_config.h"
#include "app/control/messages/parts.h"

namespace campipe::messages {

// What a node tells the others of its links.
struct OfferedLinks {
  struct Link {
    std::string name;
    unsigned port = 0;
    LinkTransport transport = LinkTransport::zeromq;
    static void fields(auto& m, auto&& f) { f("name", m.name), f("port", m.port), f("transport", m.transport); }
    friend bool operator==(const Link&, const Link&) = default;
  };
  std::string key;                        // public, in hexadecimal digits
  bool encrypted = true;                  // by the node's configuration
  std::vector<LinkTransport> transports;  // that it may use; empty: it does not know yet
  bool rdma = false;                      // UCX has an RDMA device there
  std::vector<Link> links;                // that it receives
  static void fields(auto& m, auto&& f) {
    f("key", m.key), f("encrypted", m.encrypted), f("transports", m.transports), f("rdma", m.rdma), f("links", m.links);
  }
  friend bool operator==(const OfferedLinks&, const OfferedLinks&) = default;
};

// What this node tells, and the nodes that are to be asked, every second.
struct ShareLinks {
  static constexpr std::string_view type = "share_links";
  OfferedLinks own;
  std::vector<std::string> ask;
  static void fields(auto& m, auto&& f) { f("own", m.own), f("ask", m.ask); }
  friend bool operator==(const ShareLinks&, const ShareLinks&) = default;
};

// What another node has answered, where that is news.
struct PeerLinks {
  static constexpr std::string_view type = "peer_links";
  std::string peer;  // its name
  OfferedLinks offered;
  static void fields(auto& m, auto&& f) { f("peer", m.peer), f("offered", m.offered); }
};

}  // namespace campipe::messages
