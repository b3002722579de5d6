// How far the clocks of a cluster's other nodes are from this machine's. Each node that is there is asked for its time
// every ten seconds, at its door, whether somebody looks or not. What is too far off for the rig's synchronised groups
// is a problem, which the status shows and the log has once.
//
// Leases and deadlines do not depend on it: those count monotonic time.
//
// Used by the publisher's main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/publisher/server/http/server.h"
#include "app/publisher/server/nodes/nodes.h"
#include "app/publisher/server/nodes/peer_clock.h"
#include "core/clock_reading.h"

namespace campipe {

// What a node's door answers with: the node's time.
HttpServer::Route clock_route();

// `offset`, `bound`: of another node's clock against this one's. `was`: it was found to be off before; it is so until
// it is well within the tolerance again.
bool is_clock_off(std::chrono::nanoseconds offset, std::chrono::nanoseconds bound, std::chrono::nanoseconds tolerance,
                  bool was);

// The UTC (ns) that a door has answered with; nothing: it is no such answer.
std::optional<std::int64_t> time_in(const Nodes::Reply& reply);

class NodeClocks {
 public:
  // `nodes` must outlive it.
  explicit NodeClocks(Nodes& nodes) : nodes_(nodes) {}

  // To be called several times a second: asks, and takes answers; waits for none.
  void tick();
  // Adds `clock` to each node of the status's key "cluster" whose clock is known, by this machine's clock as it is
  // `now`; and logs which nodes' clocks have come to be off, and which are right again.
  void add_to(nlohmann::json& cluster, const ClockReading& now = read_clocks());

 private:
  struct Peer {
    PeerClock clock;
    std::future<Nodes::Reply> reply;  // of the question that is on its way
    Clock::time_point next = {};      // when it is asked again
    bool is_off = false;
  };
  static void take(Peer& peer, const Nodes::Reply& reply);

  Nodes& nodes_;
  std::map<std::string, Peer> peers_;  // by node
};

}  // namespace campipe
