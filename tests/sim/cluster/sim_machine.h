// A machine of the simulated cluster: a node's rig, its process `cluster`, and what both lose or keep when they die.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/cluster/sim_agent.h"
#include "tests/sim/cluster/sim_rig.h"

namespace campipe::sim {

class SimMachine;

// What checks hear of machines.
class MachineEars {
 public:
  virtual ~MachineEars() = default;
  virtual void on_planned(SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made) = 0;
  virtual void on_begins_to_write(SimMachine& by, const std::string& camera, const std::string& fence) = 0;
  virtual void on_name_taken() = 0;
};

class SimMachine {
 public:
  struct Options {
    ClusterKeys keys;
    std::string node;
    std::string id;  // no other machine has it, also where that has the same name
    std::chrono::seconds ttl{5};
    bool runs_the_last = false;
    Amounts capacity{};
  };
  SimMachine(World& world, ModelEtcd& etcd, const std::vector<CameraSpec>& rig, Options options, MachineEars& ears);

  [[nodiscard]] const std::string& node() const { return options_.node; }
  [[nodiscard]] bool is_on() const { return rig_ != nullptr; }
  NodeLink& link() { return *link_; }
  [[nodiscard]] const NodeLink& link() const { return *link_; }
  SimRig::Machine& condition() { return condition_; }
  [[nodiscard]] const SimRig::Machine& condition() const { return condition_; }
  // Null: it is off, or not started yet.
  [[nodiscard]] SimRig* rig() const { return rig_.get(); }
  [[nodiscard]] SimAgent* agent() const { return agent_.get(); }
  [[nodiscard]] bool was_refused() const { return was_refused_; }
  [[nodiscard]] int starts() const { return starts_; }

  void start();
  void kill();
  void leave();  // it is off once its lease is given back
  void kill_agent();
  void set_stopped(bool agent, bool supervisor, bool cameras);
  void set_rig(const std::vector<CameraSpec>& rig);
  // What it has, or says to have, is another amount.
  void offer_again();
  [[nodiscard]] NodeOffer offer() const;

 private:
  void start_agent();
  void trace(const std::string& what);

  World& world_;
  ModelEtcd& etcd_;
  const std::vector<CameraSpec>& specs_;
  Options options_;
  MachineEars& ears_;
  std::shared_ptr<NodeLink> link_ = std::make_shared<NodeLink>();
  SimRig::Machine condition_;
  std::unique_ptr<SimRig> rig_;
  std::unique_ptr<SimAgent> agent_;
  std::optional<NodeDuties> saved_duties_;  // on its disk
  int starts_ = 0;
  bool was_refused_ = false;
  bool agent_is_stopped_ = false;
};

std::vector<ClusterCamera> cluster_cameras(const std::vector<CameraSpec>& rig);

}  // namespace campipe::sim
