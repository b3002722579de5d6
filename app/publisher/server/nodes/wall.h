// The status of a whole cluster: this node's, with the cameras of all others, which are asked about once a second as
// long as somebody here asks. Each answer has a deadline, and one node that is silent delays no other. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/nodes/nodes.h"
#include "core/clock.h"

namespace campipe {

// What is known of another node.
struct NodeReport {
  std::shared_ptr<const nlohmann::json> status;  // its newest one; null: none came yet
  std::string problem = {};                      // why the last question had no answer
  std::string since_utc = {};                    // there is none
};

// `local`: the status of this node's rig. Each camera gets its `node`; those of nodes that cannot be asked are as they
// were last, with the state "unreachable"; those that no node has yet, or that none runs, are there as well.
nlohmann::json whole_status(const nlohmann::json& local, const NodePlaces& places,
                            const std::map<std::string, NodeReport>& reports);

class NodesWall {
 public:
  // Both must outlive it.
  NodesWall(const RigView& rig, Nodes& nodes);
  ~NodesWall();
  NodesWall(const NodesWall&) = delete;
  NodesWall& operator=(const NodesWall&) = delete;

  // The same one until something has changed. Waits a second, at most, if nobody has asked for a while.
  [[nodiscard]] std::shared_ptr<const nlohmann::json> status();

 private:
  void run();
  void ask_all();

  const RigView& rig_;
  Nodes& nodes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point asked_{};
  Clock::time_point answered_{};  // by all that answer
  std::map<std::string, NodeReport> reports_;
  std::uint64_t version_ = 0;  // of the reports
  bool closing_ = false;
  std::uint64_t whole_version_ = 0;
  std::shared_ptr<const nlohmann::json> whole_of_;  // the rig's
  std::shared_ptr<const nlohmann::json> whole_;
  std::thread thread_;
};

}  // namespace campipe
