// What has to hold of the streams of a synchronised group, whatever befalls its members: a set is encoded by all of
// them or by none, once by each, and their times follow from its number.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "app/config/camera_config.h"
#include "core/clock.h"
#include "core/frame.h"
#include "tests/sim/fault.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class GroupWatch {
 public:
  // `config`: of the rig, as in its file.
  GroupWatch(World& world, const nlohmann::json& config);

  // A worker has work with a member.
  void on_member(const std::string& group, const std::string& member) { members_[group].insert(member); }
  // A packet of a set comes into a ring of the member's stream; or has found no room there. `life`: of the member,
  // which begins anew where it is changed.
  void on_packet(const GroupConfig& group, const std::string& member, unsigned life, const FrameTimes& times,
                 bool pushed);
  // A member has waited so long for the others of a set.
  void on_decision(const std::string& member, nanoseconds waited);
  void on_fault(const Fault& fault);
  void on_status(const nlohmann::json& status);

  // The camera has been in a group, if only alone since the others are disabled.
  [[nodiscard]] bool was_member(const std::string& camera) const;
  // Others that have been in a group with it.
  [[nodiscard]] std::set<std::string> others_with(const std::string& camera) const;
  // The run has been calm for long enough. `wanted`: the cameras, as configured by then.
  void require_in_step(const nlohmann::json& status, const std::map<std::string, CameraConfig>& wanted) const;

 private:
  struct Stream {
    unsigned life = 0;
    double rate = 0;
    std::map<std::uint64_t, Clock::time_point> sets;  // and when each was encoded
    std::set<std::uint64_t> lost;                     // found no room
    std::int64_t first_pts = 0;                       // of the first of the sets
  };
  struct Seen {
    Clock::time_point at;
    nlohmann::json frames;  // by camera
  };
  void compare(const std::string& group, const std::string& one, const std::string& other) const;

  World& world_;
  std::map<std::string, std::set<std::string>> members_;          // that each group has had
  std::map<std::string, std::map<std::string, Stream>> streams_;  // by group and member
  bool worker_deaths_only_ = true;
  std::optional<Seen> seen_;  // some seconds ago
};

}  // namespace campipe::sim
