// Placement: which worker runs which cameras, on which GPU and which cores. A pure function of configuration and
// machine.
#pragma once

#include <string>
#include <vector>

#include "app/config/config.h"
#include "app/control/camera_placement.h"
#include "app/placement/devices.h"
#include "core/frame.h"

namespace campipe {

struct Machine {
  std::vector<unsigned> cpus;  // those that this process may run on
  Devices devices;             // no GPUs, unless they were asked for (probe_devices)
};
Machine this_machine();

struct WorkerPlan {
  Device gpu;                     // the CPU: none
  int numa_node = -1;             // near its GPU; -1: any
  std::vector<unsigned> cpus;     // empty: not pinned
  std::vector<unsigned> cameras;  // places in RigConfig.cameras
};

// Of an output of a camera, whose placement that is.
Placement placement_of_output(const Placement& camera, const StreamConfig& output, const Devices& devices);

// A camera's outputs, its own included, that are encoded with or without viewers, and not passed on as they come; none:
// nothing is decoded, but for viewers of those that are encoded on demand.
unsigned encoded_outputs(const CameraConfig& camera);
bool encodes_on_demand(const CameraConfig& camera);
// One of the two: its worker has a node for it.
bool needs_worker(const CameraConfig& camera);

struct RigPlan {
  std::vector<WorkerPlan> workers;  // at least one, and none without a camera; those on GPUs first
  std::vector<Placement> cameras;   // in the configuration's order
};
// Of each camera: the place of its worker in RigPlan.workers.
std::vector<unsigned> workers_of(const RigPlan& plan);

// One worker for each GPU in use; cameras that leave the choice to us go round the GPUs, to the one with the fewest, or
// to the CPU where there is none. The others go round the CPU's workers in the file's order.
// Cores: a GPU's worker gets those near its GPU, shared with the other GPUs in use that have the same near ones; CPU
// workers get each its share of all cores. Where there are more workers than cores to share, none of them is pinned.
// Throws Error for a GPU that is not there.
RigPlan plan(const RigConfig& rig, const Machine& machine);

// Some camera may run on a GPU, so that the machine's must be known (probe_devices).
bool may_use_gpus(const RigConfig& rig);
// Some key can be checked only when they are known.
bool names_gpus(const LoadedConfig& loaded);
// What the configuration asks of this machine's GPUs and they do not have, in the order of the file. Empty: plan() does
// not throw.
std::vector<ConfigError> check_gpus(const LoadedConfig& loaded, const Machine& machine);

// "0" for a GPU, by its index; "cpu".
std::string gpu_name(const Devices& devices, const Device& device);

// A line for each pair of GPUs between which rings are shared: in which memory, and why.
std::vector<std::string> describe_sharing(const RigPlan& plan, const Devices& devices);
// "host works; cuda_vmm does not: …": what was found when each kind of memory was tried between two GPUs.
std::string describe_sharing(const Devices& devices, const Device& from, const Device& to);

}  // namespace campipe
