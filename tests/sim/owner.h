// Who has the simulated rig: edits its file, has it read again, and asks through the API; knows what the rig's cameras
// have to be by then. A request is answered once, and in time; what is refused has a reason.
//
// What the supervisor has done is what it sends as its answer, in that order: the publisher may hear of it much later,
// or never.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/control/messages/requests.h"
#include "tests/sim/change.h"
#include "tests/sim/rig_choice.h"

namespace campipe::sim {

class Machine;

// What a process has read.
struct Reading {
  nlohmann::json file;
  CameraChanges kept;
  LoadedConfig loaded;
};

class Owner {
 public:
  // Both must outlive it.
  Owner(Machine& machine, const RigChoice& choice);

  [[nodiscard]] const nlohmann::json& file() const { return file_; }
  // What the rig's cameras and mosaics have to be by now, by their names.
  [[nodiscard]] std::map<std::string, CameraConfig> wanted() const { return loaded_cameras(changes_); }
  void make(const Change& change);

  // Somebody watches the camera.
  [[nodiscard]] bool watches(const std::string& camera) const;

  // For the port.
  [[nodiscard]] bool has_signal() const { return signal_; }
  bool take_signal() { return std::exchange(signal_, false); }
  // What befalls the process that is started next.
  LoadTrouble take_trouble() { return std::exchange(trouble_, LoadTrouble::none); }

  // For the process that reads, or writes the overlay.
  [[nodiscard]] Reading read(const CameraChanges& changes) const;
  void keep(const CameraChanges& changes) { kept_.add(changes); }
  // The supervisor has got what was read for a reload.
  void on_reread(const Reading& reading);

  [[nodiscard]] bool has_asked(pid_t publisher, std::uint64_t request) const {
    return asked_.contains({publisher, request});
  }
  // The supervisor answers; the publisher has the answer; it dies without.
  void on_answer(pid_t publisher, const nlohmann::json& answer);
  void on_answered(pid_t publisher, std::uint64_t request);
  void on_death(pid_t publisher);
  // What processes were sent.
  void on_output(const ResolvedOutput& output) { outputs_[output.name] = output; }
  void on_camera(const CameraConfig& camera) { cameras_[camera.name] = camera; }

  // Long after the last change: the status, and what the processes have, are as the configuration says.
  void check(const nlohmann::json& status) const;

 private:
  struct Asked {
    std::string type;
    std::string name;
    CameraChanges effect;
    std::optional<bool> records;
    bool must_succeed = false;
    Clock::time_point at;
    std::optional<int> status;  // it was answered by the supervisor
    bool answered = false;      // and the publisher has it
  };

  [[nodiscard]] ConfigPart part_of(const std::string& name) const;
  [[nodiscard]] std::string name_for(const Change& change) const;
  void edit(ConfigPart part, const std::string& name, std::uint64_t how);
  void put(ConfigPart part, const Change& change, Asked asked);
  void remove(ConfigPart part, const Change& change, Asked asked);
  void ask_strange(const std::string& name, std::uint64_t which);
  void ask(messages::Request request, Asked asked);
  [[nodiscard]] bool excuses(const Asked& asked, const std::string& reason) const;
  void take_effect(const Asked& asked);
  [[nodiscard]] bool has_group() const;
  [[nodiscard]] bool fits(const Asked& asked) const;
  // The cameras that it makes others, or removes.
  [[nodiscard]] std::set<std::string> changed_by(const Asked& asked) const;
  [[nodiscard]] std::map<std::string, CameraConfig> loaded_cameras(const CameraChanges& changes) const;
  [[nodiscard]] bool is_unknown(const std::string& camera) const {
    return unknown_.contains(camera) || doubtful_.contains(camera);
  }
  void check(const CameraConfig& wanted, const nlohmann::json& shown) const;

  Machine& machine_;
  const RigChoice& choice_;
  nlohmann::json file_;  // as it is now
  CameraChanges kept_;   // the overlay, likewise
  // As they were when the rig read them, and what was changed since.
  nlohmann::json read_file_;
  CameraChanges read_kept_;
  CameraChanges changes_;
  bool was_edited_ = false;         // the file, since it was read
  bool loads_fail_ = false;         // some process that reads may have failed,
  bool disk_holds_ = false;         // or a disk may keep it from ending
  std::set<std::string> unknown_;   // cameras with a request whose outcome nobody knows
  std::set<std::string> doubtful_;  // cameras that such a request for another one, or for a group, changes
  std::map<std::string, Clock::time_point> watched_until_;
  std::map<std::string, bool> records_;  // what was asked last of those that run on since
  bool signal_ = false;
  LoadTrouble trouble_ = LoadTrouble::none;
  std::map<std::pair<pid_t, std::uint64_t>, Asked> asked_;
  std::map<std::string, ResolvedOutput> outputs_;  // as the publisher was told
  std::map<std::string, CameraConfig> cameras_;    // as the source was
};

}  // namespace campipe::sim
