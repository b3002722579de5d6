// Stages and tiles of this node's cameras that other nodes of the cluster do (`placement: {filter: node-b/0}`). Each
// such node of the graph is in the process of links (app/link/remote_node.h), which is told here how to reach the other
// node. The other node finds the same parts in the cluster's rig and plan (guest_stages.h).
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "app/supervisor/cluster/link_exchange.h"
#include "app/supervisor/processes/processes.h"

namespace campipe {

class RemoteStages {
 public:
  RemoteStages(RigState& rig, Processes& processes, LinkExchange& exchange)
      : rig_(rig), processes_(processes), exchange_(exchange) {}

  // To be called several times a second, before LinkExchange::share().
  void follow();
  // The process of links died.
  void on_death();
  // The links, as MosaicLinks::status() has them.
  void add_status(nlohmann::json& links) const;

 private:
  void follow(Camera& camera, CameraNode& node);
  void tell(Camera& camera, CameraNode& node, ManagedProcess& process, const messages::OfferedLinks& offered);

  // Says once of each node that it is none of the cluster's just now.
  void say_if_missing(const Camera& camera, const CameraNode& node);

  RigState& rig_;
  Processes& processes_;
  LinkExchange& exchange_;
  std::set<std::string> missing_;
};

// Of the two links of such a part: "gate/filter 2/there from east", which brings the frames, and "gate/filter 2/back to
// east". `node`: the camera's. While a camera moves, its part is done for two.
std::string link_there(const std::string& camera, const std::string& part, const std::string& node);
std::string link_back(const std::string& camera, const std::string& part, const std::string& node);
// What they are for, in the status.
nlohmann::json stage_link(const std::string& camera, const std::string& part);

}  // namespace campipe
