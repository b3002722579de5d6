// The simulated machine: its processes, its camera, and the faults that befall them. It also checks what holds for
// processes of any kind.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ipc/rig_page.h"
#include "tests/sim/checks.h"
#include "tests/sim/child.h"
#include "tests/sim/cluster_model.h"
#include "tests/sim/cluster_watch.h"
#include "tests/sim/conduct.h"
#include "tests/sim/cores.h"
#include "tests/sim/fault.h"
#include "tests/sim/gpu_watch.h"
#include "tests/sim/gpus.h"
#include "tests/sim/group_watch.h"
#include "tests/sim/mosaic_watch.h"
#include "tests/sim/mover.h"
#include "tests/sim/owner.h"
#include "tests/sim/witness.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Machine {
 public:
  // `choice` must outlive it.
  Machine(World& world, Course course, const RigChoice& choice);
  ~Machine();

  World& world() { return world_; }
  [[nodiscard]] const Course& course() const { return course_; }

  // Throws Error where a fault wants it.
  std::unique_ptr<ChildProcess> start(const std::string& role);
  std::unique_ptr<ChildProcess> start_load(const std::string& file);
  std::unique_ptr<ChildProcess> start_gpu_check(const Device& device);
  [[nodiscard]] std::size_t running() const;
  // How long a process takes to end that is killed.
  nanoseconds time_to_die(const std::string& role);
  // Its memory stays as it is.
  void bury(std::unique_ptr<Role> role, std::optional<RigPage> page);

  // For the port.
  [[nodiscard]] bool awaits_supervisor() const;
  void wake_supervisor_at(Clock::time_point when);
  [[nodiscard]] bool is_paused() const { return world_.now() < paused_until_; }
  [[nodiscard]] Clock::time_point paused_until() const { return paused_until_; }
  [[nodiscard]] bool asks_to_end() const { return world_.now() >= end_; }
  [[nodiscard]] Clock::time_point end() const { return end_; }

  // The camera sends, and sound, too.
  [[nodiscard]] bool camera_is_there(const std::string& camera);
  [[nodiscard]] bool has_sound(const std::string& camera) const;
  // Recordings find no room; or whoever finds none has lost its disk for good.
  [[nodiscard]] bool disk_is_full() const { return world_.now() < disk_full_until_; }
  [[nodiscard]] bool disk_breaks() const { return disk_breaks_; }
  // Push targets answer.
  [[nodiscard]] bool targets_are_there() const { return world_.now() >= targets_away_until_; }

  // A child makes a ring, or begins a file: nobody else has made that, or writes it now.
  void on_ring(const Child& by, const std::string& camera, const std::string& what, std::uint64_t epoch);
  void on_file(const Child& by, const std::string& path);
  // It encodes the output, which nobody else does, until its end.
  void on_writing(const Child& by, const std::string& output);
  void on_end_of_writing(const Child& by, const std::string& output);
  // That is set up, and whose main thread runs; null: there is none.
  [[nodiscard]] Child* publisher() const;
  // Or a mosaic; by its number, modulo those that there are.
  [[nodiscard]] std::optional<std::string> camera_of(std::uint64_t number) const;
  [[nodiscard]] bool is_mosaic(const std::string& name) const {
    return std::ranges::find(mosaics_, name) != mosaics_.end();
  }
  // Of a request of a publisher: no other one has it.
  std::uint64_t next_request() { return ++newest_request_; }
  Mover& mover() { return mover_; }
  // The worker that comes next to this step of a move is killed; of a move that was refused, nobody comes to it soon.
  void have_die_at(MoveStep step) { dies_at_ = step; }
  void on_move_step(Child& worker, MoveStep step);
  Cores& cores() { return cores_; }
  [[nodiscard]] const Gpus& gpus() const { return gpus_; }
  GpuWatch& gpu_watch() { return gpu_watch_; }
  GroupWatch& group_watch() { return group_watch_; }
  MosaicWatch& mosaic_watch() { return mosaic_watch_; }
  ClusterModel& cluster() { return cluster_; }
  ClusterWatch& cluster_watch() { return cluster_watch_; }
  // The supervisor sends a message, or takes one; a process dies.
  void on_message_to(const Child& child, std::string_view type, const nlohmann::json& body);
  void on_message_from(const Child& child, std::string_view type, const nlohmann::json& body);
  Conduct& conduct() { return conduct_; }
  void on_death(const Child& child, int status);
  Checks& checks() { return checks_; }
  [[nodiscard]] const Checks& checks() const { return checks_; }
  Witness& witness() { return witness_; }
  Owner& owner() { return owner_; }
  // A worker is given a node.
  void on_node(const std::string& worker, NodeId node, const std::string& camera);
  // Its camera is there: a worker that has begun anew without a node may be given it later, with what it has counted.
  [[nodiscard]] bool may_need(const std::string& worker, NodeId node) const;
  // That some process has.
  [[nodiscard]] std::set<std::string> known_cameras() const;
  // Nothing has gone wrong for so long that all has to be well again.
  [[nodiscard]] bool has_settled() const { return world_.now() - calm_since_ >= longest_recovery; }
  // Then the cameras are as their owner wants them, and those that are to run do.
  void require_all_well();

 private:
  void befall(const Fault& fault);
  void take_away_gpu(const Fault& fault);
  void require_running_elsewhere();
  void require_killed(const std::shared_ptr<Child>& child);
  void write_alone(std::map<std::string, pid_t>& writers, const Child& by, const std::string& what);
  // The role of the process that it befalls.
  [[nodiscard]] std::string target_of(const Fault& fault) const;

  World& world_;
  GroupWatch group_watch_;
  MosaicWatch mosaic_watch_{world_};
  std::vector<std::string> mosaics_;
  Checks checks_{world_, group_watch_};
  Conduct conduct_;
  Witness witness_{world_, checks_};
  ClusterModel cluster_;
  ClusterWatch cluster_watch_;
  Course course_;
  Mover mover_{*this};
  Cores cores_{world_};
  Gpus gpus_;
  GpuWatch gpu_watch_{world_};
  Owner owner_;
  std::optional<MoveStep> dies_at_;
  Clock::time_point end_;
  std::vector<std::shared_ptr<Child>> children_;
  std::vector<std::pair<std::unique_ptr<Role>, std::optional<RigPage>>> graves_;
  pid_t next_pid_ = 1000;
  std::array<std::vector<std::string>, parts> roles_;  // that have been started
  std::map<std::string, unsigned> lives_;              // by role, as what follows
  std::map<std::string, unsigned> failing_starts_;
  std::map<std::string, nanoseconds> slow_deaths_;
  std::vector<std::string> cameras_;  // in the order in which sources have asked for them
  std::map<std::uint64_t, Clock::time_point> camera_away_until_;
  Clock::time_point all_away_until_{};
  Clock::time_point targets_away_until_{};
  Clock::time_point disk_full_until_{};
  bool disk_breaks_ = false;
  Clock::time_point paused_until_{};
  Clock::time_point calm_since_{};  // the last fault is over, and no start has failed since
  std::set<std::tuple<std::string, unsigned, std::string, std::uint64_t>> rings_;
  std::map<std::pair<std::string, NodeId>, std::string> nodes_;  // the newest camera of each, by worker
  std::map<std::string, pid_t> files_;                           // and who began them
  std::map<std::string, pid_t> writers_;                         // of outputs
  std::uint64_t newest_request_ = 0;
  std::uint64_t seed_of_children_;
};

}  // namespace campipe::sim
