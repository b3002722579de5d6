// What has to hold of a simulated cluster, whatever happens in it (docs/cluster.md), looked at several times in each
// recording second and at each transaction.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/cluster/cluster.h"
#include "tests/sim/cluster/plan_oracle.h"

namespace campipe::sim {

class Checks {
 public:
  static constexpr std::chrono::seconds hand_over{5};
  // Behind the calm of a scenario, for cameras that go home a few at a time.
  static constexpr std::chrono::seconds longest_unrest{120};

  explicit Checks(Cluster& cluster) : cluster_(cluster) {}

  void sample();
  void on_change() { plan_is_new_ = true; }
  void on_txn(const EtcdTxn& txn);
  void on_planned(SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made);
  void on_begins_to_write(SimMachine& by, const std::string& camera, const std::string& fence);
  void at_end();
  // A camera has moved a moment ago.
  [[nodiscard]] bool is_moving() const { return now() < last_move_ + hand_over; }

  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }

 private:
  using Writers = std::map<std::string, std::map<const SimMachine*, std::string>>;  // by camera, with their fences

  void fail(const std::string& property, const std::string& text);
  void check_leases();
  void check_pushes();
  void check_files(const Writers& writers);
  void check_overlaps(const Writers& writers);
  void check_coverage(const Writers& writers);
  [[nodiscard]] bool may_still_run(const SimMachine& machine) const;
  [[nodiscard]] bool may_still_record(const SimMachine& machine, const CameraSpec& camera,
                                      const std::string& next_node) const;
  [[nodiscard]] bool may_be_nowhere(const CameraSpec& camera, const std::string& node) const;
  [[nodiscard]] bool may_have_ended(const CameraSpec& camera) const;
  [[nodiscard]] Span longest_gap(const CameraSpec& camera) const;
  void check_known();
  void check_room();
  void check_gone(const SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made);
  void check_vanished(const SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made);
  void note_states();
  [[nodiscard]] Writers writers() const;
  void read_plan_again();
  void note_present();
  [[nodiscard]] const CameraAssignment* assignment(const std::string& camera) const;
  [[nodiscard]] const SimMachine* machine_of(const std::string& node) const;
  [[nodiscard]] bool has(std::initializer_list<FaultKind> kinds) const;
  [[nodiscard]] bool has_of(const std::string& node, std::initializer_list<FaultKind> kinds) const;
  // Faults of these kinds are there, or were until so long ago.
  [[nodiscard]] bool had(std::initializer_list<FaultKind> kinds, Span ago) const;
  // Anything has happened to the node, or to etcd, after which it may be gone.
  [[nodiscard]] bool may_be_gone(const std::string& node, Span ago) const;
  [[nodiscard]] Time now() const { return cluster_.world().now(); }

  Cluster& cluster_;
  std::optional<Violation> violation_;
  bool plan_is_new_ = true;
  StoredPlan plan_;
  std::string planner_;
  int samples_ = 0;
  Time last_move_{};
  std::map<std::string, Time> uncovered_since_;    // cameras
  std::map<std::string, std::string> written_by_;  // and the node that did last
  std::map<std::string, Time> written_at_;         // and when
  std::map<std::string, Time> overlap_since_;
  std::map<std::string, Time> same_file_since_;
  std::map<std::string, Time> no_room_since_;
  std::map<std::pair<std::string, int>, std::map<std::string, Fence>> written_under_;  // by node and start
  std::map<FaultKind, Time> last_there_;
  std::map<std::pair<std::string, FaultKind>, Time> last_of_;  // faults of nodes
  std::map<std::size_t, Time> last_gone_;                      // machines that a fault had stopped, or cut off
  std::map<std::string, Time> last_present_;                   // nodes whose offers were in etcd
};

}  // namespace campipe::sim
