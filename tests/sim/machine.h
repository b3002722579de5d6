// The simulated machine: its processes, its camera, and the faults that befall them. It also checks what holds for
// processes of any kind.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ipc/rig_page.h"
#include "tests/sim/checks.h"
#include "tests/sim/child.h"
#include "tests/sim/fault.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Machine {
 public:
  Machine(World& world, Course course);
  ~Machine();

  World& world() { return world_; }
  [[nodiscard]] const Course& course() const { return course_; }

  // Throws Error where a fault wants it.
  std::unique_ptr<ChildProcess> start(const std::string& role);
  [[nodiscard]] std::size_t running() const;
  // How long a process takes to end that is killed.
  nanoseconds time_to_die(Part part);
  // Its memory stays as it is.
  void bury(std::unique_ptr<Role> role, std::optional<RigPage> page);

  // For the port.
  [[nodiscard]] bool awaits_supervisor() const;
  void wake_supervisor_at(Clock::time_point when);
  [[nodiscard]] bool is_paused() const { return world_.now() < paused_until_; }
  [[nodiscard]] Clock::time_point paused_until() const { return paused_until_; }
  [[nodiscard]] bool asks_to_end() const { return world_.now() >= end_; }
  [[nodiscard]] Clock::time_point end() const { return end_; }

  // The camera sends.
  [[nodiscard]] bool camera_is_there() const { return world_.now() >= camera_away_until_; }

  // A child makes a ring, or begins a file: nobody else has made that, or writes it now.
  void on_ring(const Child& by, const std::string& name, std::uint64_t epoch);
  void on_file(const Child& by, const std::string& path);
  Checks& checks() { return checks_; }
  // Nothing has gone wrong for so long that all has to be well again.
  [[nodiscard]] bool has_settled() const { return world_.now() - calm_since_ >= longest_recovery; }

 private:
  void befall(const Fault& fault);

  World& world_;
  Checks checks_{world_};
  Course course_;
  Clock::time_point end_;
  std::vector<std::shared_ptr<Child>> children_;
  std::vector<std::pair<std::unique_ptr<Role>, std::optional<RigPage>>> graves_;
  pid_t next_pid_ = 1000;
  std::array<unsigned, parts> lives_{};
  std::array<unsigned, parts> failing_starts_{};
  std::array<nanoseconds, parts> slow_deaths_{};
  Clock::time_point camera_away_until_{};
  Clock::time_point paused_until_{};
  Clock::time_point calm_since_{};  // the last fault is over, and no start has failed since
  std::set<std::pair<std::string, std::uint64_t>> rings_;
  std::map<std::string, pid_t> files_;  // and who began them
  std::uint64_t seed_of_children_;
};

}  // namespace campipe::sim
