// To and from the process that has the ends of links to other nodes (app/link/link_process.h): messages
// (app/control/messages/parts.h). Of a node whose work another node of the cluster does, both links are named by the
// edge that the node writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/drop_policy.h"
#include "app/config/link_transport.h"
#include "app/control/messages/parts.h"

namespace campipe::messages {

// ---- To it

// The first one: this node's keys of links, in hexadecimal digits. They are the rig's, and the same after a restart.
struct LinkIdentity {
  static constexpr std::string_view type = "identity";
  std::string public_key;
  std::string secret_key;
  static void fields(auto& m, auto&& f) { f("public_key", m.public_key), f("secret_key", m.secret_key); }
};

// Frames of the edge, whose rings follow (OfferFrameRing), are to be sent there. Sent again where the peer has come to
// listen elsewhere, or is another one.
struct SendLink {
  static constexpr std::string_view type = "send_link";
  EdgeId edge;
  std::string name;         // of the link, as both ends say it
  std::string address;      // HOST:PORT of the peer
  std::string peer_key;     // of its node
  std::uint64_t taken = 0;  // frames that ends that died have taken out of rings
  bool encrypted = true;
  LinkTransport transport = LinkTransport::zeromq;
  bool again = false;  // it goes on for one that died: what that has counted stays
  DropPolicy drop_policy = DropPolicy::drop;
  unsigned queue_size = 8;  // frames that may wait in the ring
  static void fields(auto& m, auto&& f) {
    f("edge", m.edge), f("name", m.name), f("address", m.address), f("peer_key", m.peer_key), f("taken", m.taken),
        f("encrypted", m.encrypted), f("transport", m.transport), f("again", m.again), f("drop_policy", m.drop_policy),
        f("queue_size", m.queue_size);
  }
};

// Frames of that link are to be received, into rings of the edge. Sent again where the peer is another one.
struct ReceiveLink {
  static constexpr std::string_view type = "receive_link";
  EdgeId edge;
  std::string name;
  std::string host;         // where to listen,
  unsigned first_port = 0;  // at a port from here on, 0: any,
  unsigned last_port = 0;   // up to here
  bool encrypted = true;
  LinkTransport transport = LinkTransport::zeromq;
  std::string peer_key;  // who may come
  DropPolicy drop_policy = DropPolicy::drop;
  unsigned queue_size = 2;
  std::uint64_t epoch = 1;  // of the first ring
  std::uint64_t base = 0;   // frames of earlier epochs
  bool again = false;       // as SendLink's
  static void fields(auto& m, auto&& f) {
    f("edge", m.edge), f("name", m.name), f("host", m.host), f("first_port", m.first_port), f("last_port", m.last_port),
        f("encrypted", m.encrypted), f("transport", m.transport), f("peer_key", m.peer_key),
        f("drop_policy", m.drop_policy), f("queue_size", m.queue_size), f("epoch", m.epoch), f("base", m.base),
        f("again", m.again);
  }
};

// There is no such link any more.
struct StopLink {
  static constexpr std::string_view type = "stop_link";
  EdgeId edge;
  bool answer = false;  // with EdgeDone, when nothing of it is left
  static void fields(auto& m, auto&& f) { f("edge", m.edge), f("answer", m.answer); }
};

// ---- From it

// What its machine has, the best first: always ZeroMQ.
struct LinkTransports {
  static constexpr std::string_view type = "link_transports";
  std::vector<LinkTransport> usable;
  bool rdma = false;           // UCX has an RDMA device
  std::string problem_of_ucx;  // why there is none; empty: there is
  static void fields(auto& m, auto&& f) {
    f("usable", m.usable), f("rdma", m.rdma), f("problem_of_ucx", m.problem_of_ucx);
  }
  friend bool operator==(const LinkTransports&, const LinkTransports&) = default;
};

// Of one that receives: it listens at that port.
struct LinkListens {
  static constexpr std::string_view type = "link_listens";
  EdgeId edge;
  unsigned port = 0;
  static void fields(auto& m, auto&& f) { f("edge", m.edge), f("port", m.port); }
};

}  // namespace campipe::messages
