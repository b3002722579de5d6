// Which nodes cameras have, and on which devices, before the workers are known: the first step of plan().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/placement/devices.h"
#include "core/frame.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

// What a node needs, before the workers are known.
struct WantedNode {
  Device gpu;
  std::optional<unsigned> cpu_worker = {};  // a certain one
  unsigned first_filter = 0;
  unsigned further = 0;     // on the CPU: so many workers beyond the one that the camera's other nodes there are in
  std::string remote = {};  // as NodePlan's
  [[nodiscard]] bool is_beside(const WantedNode& other) const {
    return gpu == other.gpu && cpu_worker == other.cpu_worker && remote == other.remote;
  }
};
using WantedNodes = std::vector<WantedNode>;

// The nodes of each camera, in the order of CameraPlan::nodes. `parts`: what each takes of a GPU; empty: all the same.
// Throws Error for a GPU that is not there.
std::vector<WantedNodes> choose_nodes(const RigConfig& rig, const Devices& devices, const std::vector<double>& parts);

bool is_tiled(const CameraConfig& camera);
// Of `gpu` as people write it: no GPU's name.
bool is_choice(const std::string& gpu);
// Throws Error where it is not there.
Device named_gpu(const std::string& name, const Devices& devices);

}  // namespace campipe
