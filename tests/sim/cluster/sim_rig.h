// The supervisor of a simulated node and its cameras, as far as the cluster has to do with them: what decides is the
// real code (camera_duty, StartPacer, UnfitCameras, PushHolds), what runs is a small state machine for each camera.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/duties.h"
#include "app/supervisor/cluster/camera_duty.h"
#include "app/supervisor/cluster/push_holds.h"
#include "app/supervisor/cluster/start_pacer.h"
#include "app/supervisor/cluster/unfit_cameras.h"
#include "tests/sim/cluster/scenario.h"

namespace campipe::sim {

class SimRig {
 public:
  // What lies in the machine, and what becomes of it.
  struct Machine {
    bool disk_is_full = false;
    std::set<std::string> cannot_run{};
    std::set<std::string> slow{};  // cameras whose sources do not open
    Amounts capacity{};
    bool is_unusable = false;  // the cluster's rig is, here
  };
  // To the process `cluster`, and what checks look at.
  struct Out {
    std::function<void(std::vector<std::string> unfit)> offer;
    std::function<void(const messages::HoldPushes&)> hold;
    std::function<void(std::map<std::string, std::string> fences, bool has_files)> recorded;
    std::function<void()> refused;  // another start has the node's name
    std::function<void(const std::string& camera, const std::string& fence)> begins_to_write;
  };
  SimRig(World& world, const std::vector<CameraSpec>& rig, const Machine& machine, Out out);
  SimRig(const SimRig&) = delete;
  SimRig& operator=(const SimRig&) = delete;

  Process& supervisor() { return supervisor_; }
  Process& cameras() { return camera_processes_; }
  void on(const messages::ClusterLease& lease);
  void on(const messages::ClusterDuties& duties);
  void on(const messages::NodeNameTaken& taken);
  // The rig has other cameras now.
  void set_rig(const std::vector<CameraSpec>& rig);
  void end();

  // What a new process `cluster` is told.
  [[nodiscard]] NodeDuties duties() const;
  [[nodiscard]] messages::HoldPushes held() const { return holds_.held(); }
  [[nodiscard]] const std::map<std::string, std::string>& recorded() const { return recorded_; }
  [[nodiscard]] bool has_files() const { return has_files_; }
  [[nodiscard]] std::vector<std::string> unfit() const { return unfit_.names(); }

  // Of cameras that write now: with the fence, as files are named.
  [[nodiscard]] std::map<std::string, std::string> writers() const;
  [[nodiscard]] bool writes(const std::string& camera) const;
  [[nodiscard]] bool pushes(const std::string& camera) const;
  [[nodiscard]] bool is_written_whole(const std::string& camera) const;  // its first group of pictures is in a file
  [[nodiscard]] bool runs() const { return !camera_processes_.is_stopped() && !camera_processes_.is_dead(); }

 private:
  struct Camera {
    CameraSpec spec;
    enum class State : std::uint8_t { starting, running, retiring } state = State::starting;
    bool has_begun = false;
    bool is_recorded = false;
    std::int64_t push_until = 0;  // in the rig page
    Time open_until{};            // of a push
  };
  void turn();
  void follow_unfit();
  void follow_cameras();
  void follow_recordings();
  void follow_pushes();
  void allow(const std::string& name, Camera& camera);
  void start(const std::string& name);
  void try_to_run(const std::string& name, std::uint64_t number);
  void retire(const std::string& name);
  void take_fence(const std::string& name, const std::string& fence);

  World& world_;
  std::map<std::string, CameraSpec> rig_;
  const Machine& machine_;
  Out out_;
  Process supervisor_;
  Process camera_processes_;
  std::optional<std::map<std::string, bool>> duties_;
  std::map<std::string, std::string> fences_;
  std::map<std::string, Camera> cameras_;
  std::map<std::string, Time> failed_;  // until then
  std::int64_t lease_until_ = 0;
  bool was_member_ = false;
  bool is_ending_ = false;
  std::map<std::string, std::string> recorded_;
  bool has_files_ = false;
  std::vector<std::string> unfit_sent_;
  UnfitCameras unfit_;
  StartPacer pacer_;
  PushHolds holds_;
  std::uint64_t starts_ = 0;
  std::map<std::string, std::uint64_t> start_of_;
};

}  // namespace campipe::sim
