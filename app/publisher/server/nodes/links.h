// What the nodes of a cluster tell each other of their links (app/link): their keys, and where they listen. Only public
// keys: that they are a node's is what the doors' certificates say.
//
// Used by the publisher's main thread, but for the route, which any thread may answer.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/control/messages/shared_links.h"
#include "app/publisher/server/http/server.h"
#include "app/publisher/server/nodes/nodes.h"

namespace campipe {

// What a door has answered with; nothing: it is no such answer.
std::optional<messages::OfferedLinks> links_in(const Nodes::Reply& reply);

class NodeLinks {
 public:
  // `nodes` must outlive it.
  explicit NodeLinks(Nodes& nodes) : nodes_(nodes) {}

  void set(messages::ShareLinks shared);
  // What a node's door answers with.
  [[nodiscard]] HttpServer::Route route() const;
  // To be called several times a second: asks, and takes answers; waits for none. What is news.
  std::vector<messages::PeerLinks> tick();

 private:
  struct Peer {
    std::future<Nodes::Reply> reply;  // of the question that is on its way
    Clock::time_point next = {};      // when it is asked again
    messages::OfferedLinks offered;   // the newest
    bool is_unreadable = false;       // so was its last answer
  };
  struct Own {
    std::mutex mutex;
    messages::OfferedLinks offered;
  };

  Nodes& nodes_;
  std::map<std::string, Peer> peers_;  // by node
  const std::shared_ptr<Own> own_ = std::make_shared<Own>();
};

}  // namespace campipe
