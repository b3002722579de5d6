// What has to hold in each run, whatever befalls the rig: of the log, of each status that the supervisor sends, and of
// the report at the end.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/clock.h"
#include "tests/sim/fault.h"
#include "tests/sim/group_watch.h"
#include "tests/sim/uses.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Checks {
 public:
  Checks(World& world, const GroupWatch& groups) : world_(world), groups_(groups) {}

  // Frames that came are encoded, dropped, or on their way; no count goes back. `ends`: the rig was asked to.
  void on_status(const nlohmann::json& status, bool ends);
  // A line of the supervisor's log. `level`: as spdlog's.
  void on_log(int level, const std::string& line);
  // `process`: the role that it befalls; empty: it befalls none.
  void on_fault(const Fault& fault, const std::string& process);
  // A process has crashed on its thread for the camera, or for an output of it.
  void on_crash(const std::string& camera, Part part) { ++crashes_[{camera, part == Part::publisher}]; }
  // Some fault may be there still, or again, and it is not a death.
  [[nodiscard]] bool hinders() const { return hinders_; }
  // Something else than a death has befallen its processes of that part, or all.
  [[nodiscard]] bool hinders(const std::string& camera, Part part) const {
    return paused_ || uses_.is_hindered(camera, part);
  }
  // Which processes the cameras use.
  Uses& uses() { return uses_; }
  // Its recording was asked to pause, so that not all of its packets are to be in a file.
  void on_recording_off(const std::string& camera) { not_all_recorded_.insert(camera); }
  // One of that name that comes later counts from 0.
  void on_removed(const std::string& camera) { removed_.insert(camera); }
  // How often the camera has begun anew, with rings of its own.
  [[nodiscard]] unsigned life_of(const std::string& camera) const;
  // The newest status; null: there is none.
  [[nodiscard]] const nlohmann::json& status() const { return status_; }
  // A process has sent something that is to be refused.
  void on_lie() { ++lies_; }

  // The run has been calm for long enough: the camera delivers.
  void require_running() const;
  // decoded + repeated = encoded + Σ dropped, each packet is recorded, or known not to be, and some fault explains each
  // loss. `settles`: as the run's course.
  void on_report(const std::string& report, bool settles) const;
  // Three crashes within a minute quarantine a camera, or end its recording.
  [[nodiscard]] bool may_be_quarantined(const std::string& camera) const;
  [[nodiscard]] bool any_may_be_quarantined() const;

 private:
  struct Seen {
    std::uint64_t status = 0;  // the newest that has it
    std::string camera;
    bool on_demand = false;
    std::string state;
    std::string reason;
    std::string worker;
    bool stalls = false;  // it is shown as running, and its worker waits for its restart
    std::uint64_t decoded = 0;
    std::uint64_t encoded = 0;
    std::uint64_t recorded = 0;
    Clock::time_point encoded_since;  // when that grew last
    std::optional<Clock::time_point> moves_since;
  };

  static bool is_quarantined(const Seen& seen);
  void follow_move(const std::string& name, Seen& seen, bool moves);
  [[nodiscard]] bool explains(const std::string& camera, const std::string& cause, bool settles) const;
  [[nodiscard]] bool own_faults_explain(const std::string& camera, const std::string& cause, bool settles) const;
  void on_end_of_life(const std::string& line, const std::string& how, std::size_t at);
  [[nodiscard]] bool records_all(const std::string& name) const;
  void on_output(const std::string& camera, const std::string& name, const nlohmann::json& shown);
  void on_processes(const nlohmann::json& processes);
  void check_end(const std::string& name, const nlohmann::json& shown, bool settles) const;
  void require_recovered(const std::string& name) const;

  World& world_;
  const GroupWatch& groups_;
  Uses uses_{world_};
  bool paused_ = false;
  bool disk_full_ = false;
  bool hangs_ = false;                   // some process may
  bool hinders_ = false;                 // see hinders()
  std::map<std::string, Seen> outputs_;  // cameras' own streams, and others: "gate/small"
  std::uint64_t status_number_ = 0;
  std::map<std::string, unsigned> lives_;
  std::set<std::string> removed_;
  std::set<std::string> not_all_recorded_;
  nlohmann::json status_;
  unsigned lies_ = 0;
  unsigned refused_ = 0;
  std::map<std::pair<std::string, bool>, unsigned> crashes_;  // of cameras; in the publisher, which counts apart: true
};

}  // namespace campipe::sim
