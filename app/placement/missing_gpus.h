// GPUs that a rig asks for and this machine has not, or cannot use, when the rig starts or is changed. That is no
// mistake: each of them is a device that is gone, so that its cameras run on what there is (stand_ins.h), and awaited,
// so that somebody looks for it (app/supervisor/faults/gpu_arrivals.h). Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/config/mps.h"
#include "app/placement/devices.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

// Each GPU that a camera names and `devices` have not, or that cannot be used now, becomes one that is awaited. One
// that is named by its index has an invented UUID until it is here. Where no GPU can be used at all, cameras that need
// any, for their encoder or for MPS, await GPU 0.
void add_missing_gpus(Devices& devices, const RigConfig& rig);
// Those that none of these cameras names or needs are awaited no more.
void forget_unnamed_gpus(Devices& devices, std::span<const CameraConfig> cameras, Mps mps);

bool any_awaited(const Devices& devices);
// What there is.
Devices without_awaited(Devices devices);
// It stands for a GPU of which nothing but the index is known.
bool is_invented(const Device& device);
// The first one that the camera names, or needs, and that is gone; nothing: all are here.
std::optional<Device> missed_by(const CameraConfig& camera, const Devices& devices, Mps mps);

// A GPU that was awaited, and what it is.
struct GpuArrival {
  Device awaited;
  Device here;
};
// `found`: a new look at this machine. Each awaited GPU that `found` has, and that can be used, replaces its entry in
// `devices`. The others get the newest reason why they are gone. A GPU that was here keeps its index, also where
// another one has come before it on the bus: that one gets the index of a GPU that was awaited. A GPU that nobody
// awaits is not added.
std::vector<GpuArrival> take_arrivals(Devices& devices, const Devices& found);

}  // namespace campipe
