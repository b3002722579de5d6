#include "app/cluster/agent.h"

#include <utility>

namespace campipe {

ClusterAgent::ClusterAgent(Options options)
    : keys_(options.cluster),
      watch_({options.servers, keys_.prefix(), options.silence}),
      logic_(keys_, options.offer.node, options.offer.instance, std::move(options.duties),
             std::move(options.last_duties), *this),
      membership_({options.servers, keys_, options.ttl}, std::move(options.offer)),
      planning_(options.servers, keys_, options.ttl),
      own_keys_(options.servers) {}

ClusterAgent::~ClusterAgent() = default;

std::vector<pollfd> ClusterAgent::fds() const {
  return {{watch_.fd(), POLLIN, 0}, {membership_.fd(), POLLIN, 0}, {planning_.fd(), POLLIN, 0}};
}

}  // namespace campipe
