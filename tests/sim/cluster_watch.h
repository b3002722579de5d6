// What has to hold of a node of a cluster: it runs what it was given and nothing else, for as long as it may, and hands
// cameras over without a gap. What the node knows is what its supervisor has taken of the process `cluster`.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "app/control/messages/cluster.h"
#include "tests/sim/checks.h"
#include "tests/sim/cluster_model.h"
#include "tests/sim/rig_choice.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class ClusterWatch {
 public:
  // All must outlive it.
  ClusterWatch(World& world, const ClusterModel& cluster, const Checks& checks, const RigChoice& choice);

  // The supervisor takes a message of the process, or sends it one.
  void on_taken(std::string_view type, const nlohmann::json& body);
  void on_sent(std::string_view type, const nlohmann::json& body);
  // The process names what the node has to run.
  void on_named(const messages::ClusterDuties& duties) const;
  // It is asked to leave.
  void on_leave(std::size_t processes) const;
  // The supervisor sends the status, while the rig runs; logs a line.
  void on_status(const nlohmann::json& status) const;
  void on_log(const std::string& line);
  // The publisher has begun a file under that fence; has written a part of it.
  void on_file(const std::string& camera, const std::string& fence) { files_[camera] = fence; }
  void on_written(const std::string& camera);

  // Long after the last fault.
  void check() const;

 private:
  struct Duty {
    std::string fence;
    bool leaves = false;
  };
  [[nodiscard]] const char* why_not(const std::string& camera) const;

  World& world_;
  const ClusterModel& cluster_;
  const Checks& checks_;
  std::set<std::string> stops_;  // cameras that stop where the node is cut off
  std::map<std::string, Duty> duties_;
  std::int64_t lease_until_ = 0;
  std::set<std::string> ended_;                         // cameras that are here until they have come to their end
  std::map<std::string, std::string> recorded_;         // as was said last
  std::map<std::string, std::string> files_;            // the newest one's fence
  std::set<std::pair<std::string, unsigned>> written_;  // cameras, and their lives here
  std::set<std::pair<std::string, std::string>> written_under_;  // and their fences
};

}  // namespace campipe::sim
