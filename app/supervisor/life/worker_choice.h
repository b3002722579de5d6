// Which workers a camera that comes while the rig runs is given to: of those that work where a node of it is placed the
// one with the least to do, by prediction (with `balance: off`: with the fewest nodes), else a new one.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

class WorkerChoice {
 public:
  WorkerChoice(RigState& rig, Processes& processes) : rig_(rig), processes_(processes) {}

  // Throws Error where there is none for one of them. Changes nothing.
  void require(std::span<const CameraConfig> coming) const;
  // Its nodes' workers are the numbers of processes, which have been added where they are new, or no_worker.
  // `displaced`: it stands in for one on a GPU, and where it needs a new worker on the CPU, that has all cores. Throws
  // Error.
  CameraPlan choose(const CameraConfig& config, bool displaced = false);

 private:
  // A worker to choose from: one that there is, or that there would be.
  struct Candidate {
    Device gpu;
    std::vector<Device> sees;
    bool for_others = false;  // as ProcessPlace's
    double cores = 0;         // that its nodes need
    unsigned cameras = 0;     // nodes of cameras
  };
  struct Placed {
    CameraPlan camera;  // its workers are places in the next one
    std::vector<WorkerPlan> workers;
  };

  [[nodiscard]] std::vector<Candidate> candidates() const;
  [[nodiscard]] std::vector<Device> gpus_that_decode() const;
  [[nodiscard]] double cores_for_each(const CameraConfig& camera, std::size_t nodes) const;
  // `cores`: for each of its nodes.
  static std::map<unsigned, unsigned> best_for(const CameraPlan& camera, double cores,
                                               std::vector<Candidate>& candidates);
  static unsigned best_for(const NodePlan& node, double cores, const std::vector<Device>& needs,
                           std::vector<Candidate>& candidates, const std::map<unsigned, unsigned>& taken);
  [[nodiscard]] Placed place_last(const RigConfig& rig) const;
  [[nodiscard]] RigConfig rig_without(std::span<const CameraConfig> coming) const;

  RigState& rig_;
  Processes& processes_;
};

// The GPUs that a worker is to see, its own first: CUDA then takes it unasked. One on a GPU sees all that decode, so
// that any camera can be moved to it; what it does not use costs it nothing.
std::vector<Device> gpus_of_worker(const RigPlan& plan, unsigned worker);
// Where the camera's master is: it sees the GPU that it decodes on, and no other.
ProcessPlace place_of_master(const CameraPlan& camera, const Devices& devices);

}  // namespace campipe
