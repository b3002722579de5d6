// Placement: which worker runs which cameras, on which GPU and which cores. A pure function of configuration and
// machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/config_error.h"
#include "app/config/drop_policy.h"
#include "app/control/camera_placement.h"
#include "app/placement/devices.h"
#include "app/placement/machine_limits.h"
#include "core/error.h"
#include "core/frame.h"

namespace campipe {

struct CameraConfig;
struct LoadedConfig;
struct RigConfig;
struct StreamConfig;

struct Machine {
  std::vector<unsigned> cpus;  // those that this process may run on
  Devices devices;             // no GPUs, unless they were asked for (probe_devices)
  MachineLimits limits = {};
  // So many of them at once: a cgroup may allow less time than they have.
  [[nodiscard]] double cores() const;
};
Machine this_machine();

struct WorkerPlan {
  Device gpu;                     // the CPU: none
  int numa_node = -1;             // near its GPU; -1: any
  std::vector<unsigned> cpus;     // empty: not pinned
  std::vector<unsigned> cameras;  // places in RigConfig.cameras, of those that have a node here; each once
};

// A node has this number in place of a worker's if another node of the cluster does its work.
inline constexpr unsigned no_worker = ~0U;

// A node: a thread in a worker.
struct NodePlan {
  unsigned worker = 0;                 // place in RigPlan.workers; or no_worker
  Device gpu;                          // the worker's
  std::optional<unsigned> cpu_worker;  // that the configuration asks for, counted from 0 among those of the CPU
  unsigned further = 0;  // else, where it is one of the CPU's: so many after that of the camera's other nodes there
  unsigned first_filter =
      0;               // of the camera's: it runs those from here to the next node's first, the last one all others
  std::string remote;  // "node-b/0": another node of the cluster does the work, there; empty: this one
  RingMemory output;   // of the frames that it makes for the next node, or a tile for the last one
  double encode_cores = 1;  // see Placement
};

// The camera's frames go from its source through its nodes, in their order. The last one encodes the camera's own
// stream, the first one makes its other outputs from the source's frames. By tile, all nodes but the last one read the
// source's frames, and the last one joins what they make of them.
struct CameraPlan {
  Placement placement;  // from the source to the first node
  std::vector<NodePlan> nodes{NodePlan()};
  unsigned tiles = 0;  // nodes, the first ones, that make a part of each frame; 0: it is not tiled
  // Of a mosaic: what the frames of each cell come through, in its worker; of cells without a camera that runs: none.
  std::vector<RingMemory> cells = {};
};

// The GPUs that make the frames which a node of the camera reads; the CPU too.
std::vector<Device> inputs_of(const CameraPlan& camera, std::size_t node);

// Of an output that this node of the camera encodes.
Placement placement_of_output(const CameraPlan& camera, const NodePlan& node, const StreamConfig& output,
                              const Devices& devices);

// A camera's outputs, its own included, that are encoded with or without viewers, and not passed on as they come; none:
// nothing is decoded, but for viewers of those that are encoded on demand.
unsigned encoded_outputs(const CameraConfig& camera);
// What becomes of its frames where they are not taken in time. What is decoded for viewers or mosaics alone delays
// nothing else: its worker shares the frames with its copies.
DropPolicy frame_policy(const CameraConfig& camera);
bool encodes_own(const CameraConfig& camera);
bool encodes_on_demand(const CameraConfig& camera);
// One of the two: its worker has a node for it.
bool needs_worker(const CameraConfig& camera);

struct RigPlan {
  std::vector<WorkerPlan> workers;  // at least one, and none without a camera; those on GPUs first
  std::vector<CameraPlan> cameras;  // in the configuration's order
};

// By camera: one node, on the camera's GPU. By stage (`placement`): consecutive filters on one device are one node,
// with the encoder where that is on the same. By tile (`placement.tiles`): a node for each tile, and one that joins and
// encodes, where the first tile is unless `encode` says where. Tiles that leave the choice to us are on GPUs of their
// own, as many as there are, or on workers of the CPU of their own. One worker for each GPU in use; cameras that leave
// the choice to us go round the GPUs, to the one with the fewest, or to the CPU where there is none. The others go
// round the CPU's workers in the file's order. Cores: a GPU's worker gets those near its GPU, shared with the other
// GPUs in use that have the same near ones; CPU workers get each its share of all cores. Where there are more workers
// than cores to share, none of them is pinned. What would be on a GPU that is gone (Gpu::gone) is on those that are
// here (app/placement/stand_ins.h). Throws Error for a worker that cannot be there, and for a GPU that is not there and
// that nobody awaits (app/placement/missing_gpus.h).
RigPlan plan(const RigConfig& rig, const Machine& machine);

// What a camera's `placement` asks for, and cannot have.
struct PlanMistake {
  std::size_t camera = 0;
  std::string named;  // as it is written there: "cpu:7"; empty: the tiles
  std::string message;
};
// Of all cameras, as far as they are known; at least one.
struct PlanError : Error {
  PlanError(std::vector<PlanMistake> all, const RigConfig& rig);
  std::vector<PlanMistake> mistakes;
};

// Some camera may run on a GPU, so that the machine's must be known (probe_devices).
bool may_use_gpus(const RigConfig& rig);
// Some key can be checked only when they are known.
bool names_gpus(const LoadedConfig& loaded);
// Errors of the keys that name GPUs. Each list follows the order of the file.
struct GpuFindings {
  std::vector<ConfigError> mistakes;  // whatever the machine: such as places on other nodes where there is no cluster
  // What the configuration asks of this machine's GPUs and they do not have, now: the cameras run on what there is.
  std::vector<ConfigError> conditions;
};
// No mistakes: plan() does not throw once the machine has what add_missing_gpus() adds.
GpuFindings check_gpus(const LoadedConfig& loaded, const Machine& machine);

// "0" for a GPU, by its index; "cpu".
std::string gpu_name(const Devices& devices, const Device& device);

// A file of a synchronised group: such files go by one another's frames, so that one process decodes them, on the CPU.
bool decodes_together(const CameraConfig& camera);
// Of the process that decodes there: "master 0", by that name of the GPU; on the CPU "master".
std::string master_name(const std::string& gpu);
// "worker 3"; of no_worker: "link", the process of links.
std::string worker_name(unsigned worker);

// A line for each pair of GPUs between which rings are shared: in which memory, and why.
std::vector<std::string> describe_sharing(const RigPlan& plan, const Devices& devices);
// "host works; cuda_vmm does not: …": what was found when each kind of memory was tried between two GPUs.
std::string describe_sharing(const Devices& devices, const Device& from, const Device& to);

}  // namespace campipe
