// RTSP connections that go on to the node which runs the camera: by its door (docs/cluster.md), and only over the
// connection itself. The client has logged in here; its further requests are about that camera alone, and go through
// without the login.
//
// They run on the thread that talks to nodes, and end by themselves: with the client, with the node, where either takes
// nothing for half a minute, and within a second when the user may not see the camera any more.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "app/publisher/server/access.h"
#include "app/publisher/server/nodes/nodes.h"
#include "app/publisher/server/rtsp/channel.h"

namespace campipe {

class RtspRelays {
 public:
  // `most_of_address`: of an address, or an IPv6 network. The others must outlive it, and `access` also `nodes`.
  RtspRelays(Nodes& nodes, Access& access, std::size_t most_of_address);
  ~RtspRelays();
  RtspRelays(const RtspRelays&) = delete;
  RtspRelays& operator=(const RtspRelays&) = delete;

  [[nodiscard]] bool is_elsewhere(const std::string& camera) const { return nodes_.places()->is_elsewhere(camera); }

  struct Whose {
    std::string camera;
    Identity identity;
    std::string address;
  };
  // Any thread. Does not wait: what cannot be is answered to the client with 503.
  void begin(RtspChannel::Taken taken, Whose whose);

 private:
  struct State;
  class Relay;
  Nodes& nodes_;
  const std::shared_ptr<State> state_;  // relays may end later
  const std::size_t most_of_address_;
};

}  // namespace campipe
