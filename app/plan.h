// Placement: which worker runs which cameras, on which cores. A pure function of configuration and machine.
#pragma once

#include <string>
#include <vector>

#include "app/config.h"

namespace campipe {

struct Machine {
  std::vector<unsigned> cpus;  // those that this process may run on
};
Machine this_machine();

struct WorkerPlan {
  std::vector<unsigned> cpus;     // empty: not pinned
  std::vector<unsigned> cameras;  // places in RigConfig.cameras
};

// At least one worker, and none without a camera. Cameras go round the workers in the file's order. Each worker gets
// its share of the cores; where there are more workers than cores, none is pinned.
std::vector<WorkerPlan> plan(const RigConfig& rig, const Machine& machine);

// For people: a line for each worker.
std::string describe(const std::vector<WorkerPlan>& workers, const RigConfig& rig);

}  // namespace campipe
