// Placement: which worker runs which cameras, on which GPU and which cores. A pure function of configuration and machine.
#pragma once

#include <string>
#include <vector>

#include "app/config.h"
#include "app/devices.h"
#include "core/frame.h"

namespace campipe {

struct Machine {
  std::vector<unsigned> cpus;  // those that this process may run on
  Devices devices;             // no GPUs, unless they were asked for (probe_devices)
};
Machine this_machine();

struct WorkerPlan {
  Device gpu;  // the CPU: none
  std::vector<unsigned> cpus;     // empty: not pinned
  std::vector<unsigned> cameras;  // places in RigConfig.cameras
};

// Where one camera's work is done, for the processes that do it.
struct Placement {
  Device decode_gpu;                            // the CPU: libavcodec's own decoders
  std::vector<unsigned> decode_cpus;            // for its ingest thread; empty: not pinned
  MemoryKind memory = MemoryKind::host;         // of a ring that a GPU fills; others are of host memory
  ReadySignal ready = ReadySignal::immediate;   // likewise
  Device gpu;                                   // its worker's
  bool hardware_encoder = false;                // that GPU has an encoder of the camera's codec
  double encode_cores = 1;                      // its share of the worker's cores, for `encode.threads: auto`
};
nlohmann::json to_json(const Placement& placement);
Placement placement_from_json(const nlohmann::json& json);

// At least one worker, and none without a camera. Cameras go round the workers in the file's order. Each worker gets
// its share of the cores; where there are more workers than cores, none is pinned.
std::vector<WorkerPlan> plan(const RigConfig& rig, const Machine& machine);

// For people: a line for each worker.
std::string describe(const std::vector<WorkerPlan>& workers, const RigConfig& rig);

}  // namespace campipe
