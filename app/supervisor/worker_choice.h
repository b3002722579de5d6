// Which worker a camera that comes while the rig runs is given to: of those that work where it is placed the one with
// the fewest cameras, else a new one.
#pragma once

#include <span>
#include <vector>

#include "app/supervisor/processes.h"
#include "app/supervisor/rig_state.h"

namespace campipe {

class WorkerChoice {
 public:
  struct Chosen {
    Placement placement;
    unsigned worker = 0;  // has been added, if it is new
  };

  WorkerChoice(RigState& rig, Processes& processes) : rig_(rig), processes_(processes) {}

  // Throws Error where there is none for one of them. Changes nothing.
  void require(std::span<const CameraConfig> coming) const;
  // Throws Error.
  Chosen choose(const CameraConfig& config);

 private:
  // A worker to choose from: one that there is, or that there would be.
  struct Candidate {
    Device gpu;
    std::vector<Device> sees;
    unsigned cameras = 0;
  };
  struct Placed {
    Placement placement;
    WorkerPlan worker;
    bool without_its_decoder = false;  // the master does not see that GPU
  };

  [[nodiscard]] std::vector<Candidate> candidates() const;
  static unsigned best_for(const Placement& placement, std::vector<Candidate>& candidates);
  [[nodiscard]] Placed place_last(const RigConfig& rig) const;
  [[nodiscard]] RigConfig rig_without(std::span<const CameraConfig> coming) const;

  RigState& rig_;
  Processes& processes_;
};

// The GPUs that a rig's master and a worker are to see, the worker's own first: CUDA then takes it unasked.
std::vector<Device> gpus_of_master(const std::vector<Placement>& cameras);
std::vector<Device> gpus_of_worker(const WorkerPlan& worker, const std::vector<Placement>& cameras);

}  // namespace campipe
