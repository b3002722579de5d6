// What other nodes of a cluster have recorded, as one list with this node's.
#pragma once

#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "app/publisher/server/access.h"
#include "app/publisher/server/nodes/nodes.h"
#include "app/publisher/server/recordings.h"

namespace campipe {

class NodeRecordings {
 public:
  // Asks all nodes that are there, for this user: each looks itself at what that user may see. `camera`: only its;
  // empty: of all. `has_users`: of this node.
  NodeRecordings(Nodes& nodes, const std::string& camera, Recordings::Query query, const Identity& identity,
                 bool has_users);

  // Once. `body`: {"recordings": [...]} of this node, and, with their "node", of those that are away. The others' come
  // among them by time, each with its "node"; "unreachable" names the nodes that gave none, and why. Waits for them,
  // three seconds at most.
  void add_to(nlohmann::json& body);

 private:
  void take(const std::string& node, const Nodes::Reply& reply, nlohmann::json& recordings);

  const Recordings::Query query_;
  const std::string own_;
  const Deadline deadline_;
  std::map<std::string, std::future<Nodes::Reply>> replies_;
  std::map<std::string, std::string> unreachable_;
};

}  // namespace campipe
