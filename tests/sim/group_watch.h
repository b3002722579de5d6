// What has to hold of the streams of a synchronised group, whatever befalls its members: a set is encoded by all of
// them or by none, once by each, and their times follow from its number.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "core/clock.h"
#include "core/frame.h"
#include "tests/sim/fault.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class GroupWatch {
 public:
  // `config`: of the rig, as in its file.
  GroupWatch(World& world, const nlohmann::json& config);

  // A packet of a set comes into a ring of the member's stream; or has found no room there.
  void on_packet(const std::string& group, const std::string& member, const FrameTimes& times, bool pushed);
  // A member has waited so long for the others of a set.
  void on_decision(const std::string& member, nanoseconds waited);
  void on_fault(const Fault& fault);
  void on_status(const nlohmann::json& status);

  // Other members of the camera's group; none: it is in no group.
  [[nodiscard]] std::set<std::string> others_with(const std::string& camera) const;
  // The run has been calm for long enough.
  void require_in_step(const nlohmann::json& status) const;

 private:
  struct Stream {
    std::set<std::uint64_t> sets;
    std::set<std::uint64_t> lost;  // found no room
    std::int64_t first_pts = 0;    // of the first of the sets
  };
  struct Seen {
    Clock::time_point at;
    nlohmann::json frames;  // by camera
  };
  [[nodiscard]] const nlohmann::json& rules_of(const std::string& camera) const;
  void compare(const std::string& group, const std::string& one, const std::string& other) const;

  World& world_;
  nlohmann::json groups_;
  std::map<std::string, std::map<std::string, Stream>> streams_;  // by group and member
  bool worker_deaths_only_ = true;
  std::optional<Seen> seen_;  // some seconds ago
};

}  // namespace campipe::sim
