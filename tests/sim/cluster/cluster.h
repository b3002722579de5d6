// A simulated cluster: machines, the model of etcd, and the faults of a scenario. Checks look at it all the time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/cluster/scenario.h"
#include "tests/sim/cluster/sim_machine.h"

namespace campipe::sim {

class Checks;

struct Violation {
  std::string property;
  std::string text;
  double at = 0;  // seconds
};

class Cluster final : public MachineEars {
 public:
  static constexpr std::chrono::seconds ttl{5};

  // `trace`: where lines are added; null: nowhere.
  Cluster(const Scenario& scenario, std::vector<std::string>* trace);
  ~Cluster() override;

  // To the end, or to the first violation.
  std::optional<Violation> run();

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] const ModelEtcd& etcd() const { return etcd_; }
  [[nodiscard]] const ClusterKeys& keys() const { return keys_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  // Those of the scenario, and twins.
  [[nodiscard]] const std::vector<std::unique_ptr<SimMachine>>& machines() const { return machines_; }
  [[nodiscard]] const std::vector<CameraSpec>& rig() const { return rig_; }
  // Faults that are there now; and since when nothing has begun or ended.
  [[nodiscard]] const std::set<const Fault*>& active() const { return active_; }
  [[nodiscard]] Time last_change() const { return last_change_; }
  [[nodiscard]] Time last_begin() const { return last_begin_; }
  [[nodiscard]] bool operator_acts() const { return operator_acts_; }
  // How often each fault and state was reached.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& reached() const { return reached_; }
  void reach(const std::string& state) { ++reached_[state]; }

 private:
  void on_planned(SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made) override;
  void on_begins_to_write(SimMachine& by, const std::string& camera, const std::string& fence) override;
  void on_name_taken() override { reach("a name is taken"); }

  void begin(const Fault& fault);
  void end(const Fault& fault);
  void begin_in_etcd(const Fault& fault);
  void end_in_etcd(const Fault& fault);
  void refresh();
  void raise_epoch();
  void change_rig();
  void lie(const Fault& fault, bool begins);
  void spoil_plan(const Fault& fault);
  void start_again(std::size_t machine);
  [[nodiscard]] bool has(FaultKind kind, std::size_t machine) const;
  [[nodiscard]] bool has(FaultKind kind) const;
  [[nodiscard]] std::string node(std::size_t machine) const { return "n" + std::to_string(machine); }

  const Scenario& scenario_;
  World world_;
  ModelEtcd etcd_;
  ClusterKeys keys_{"sim"};
  std::vector<CameraSpec> rig_;
  std::vector<std::unique_ptr<SimMachine>> machines_;
  std::set<const Fault*> active_;
  Time last_change_{};
  Time last_begin_{};
  bool operator_acts_ = false;
  std::map<std::string, std::uint64_t> reached_;
  std::unique_ptr<Checks> checks_;
};

}  // namespace campipe::sim
