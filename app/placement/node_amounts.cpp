#include "app/placement/node_amounts.h"

#include <algorithm>
#include <span>

#include "app/placement/camera_weights.h"
#include "app/placement/capacity.h"
#include "app/placement/stand_ins.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr double doubt = 2;

// Of a GPU all decoders are one: what that is in pixels depends on the codec.
void add(NodeAmounts& amounts, const RigNeeds& needs, double sign) {
  amounts["cores"] += sign * needs.cores.sum();
  amounts["memory"] += sign * needs.memory;
  for (const GpuNeeds& gpu : needs.gpus) {
    amounts["decode"] += sign * gpu.decode;
    amounts["GPU time"] += sign * gpu.busy;
    amounts["GPU memory"] += sign * gpu.memory;
  }
}

// The second one of its kind: what the processes themselves take is there with the first.
NodeAmounts amounts_of(std::span<const CameraConfig> cameras, const Machine& machine, const MachineCosts& costs,
                       const KnownStreams& known) {
  const CameraConfig& camera = cameras.front();
  const KnownStream stream = expected_stream(camera, known);
  RigConfig rig;
  NodeAmounts amounts;
  KnownStreams streams;
  for (const CameraConfig& shown : cameras.subspan(1)) {
    rig.cameras.push_back(shown);
    streams[shown.name] = expected_stream(shown, known);
  }
  for (const double sign : {-1.0, 1.0}) {
    CameraConfig& added = rig.cameras.emplace_back(camera);
    added.name = camera.name + "+" + std::to_string(rig.cameras.size());
    added.source.pace = Pace::realtime;  // of what is as fast as it can be nothing is predicted
    streams[added.name] = stream;
    add(amounts, find_needs(rig, plan(rig, machine), machine.devices, costs, streams), sign);
  }
  for (auto& [resource, amount] : amounts) amount = std::max(amount, 0.0);
  std::erase_if(amounts, [](const auto& of) { return of.second == 0; });
  return amounts;
}

}  // namespace

NodeAmounts node_capacity(const Machine& machine, const MachineCosts& costs) {
  RigNeeds all;
  for (const Gpu& gpu : machine.devices.gpus) {
    // A megapixel a second of each part of its decoders: then what can be used is a part, too.
    if (gpu.problem.empty() && !is_gone(machine.devices, gpu.device))
      all.gpus.push_back({gpu.device, 1, 1, 0, 0, 0, 1});
  }
  NodeAmounts capacity;
  for (const ResourceUse& use : resource_uses(all, machine, costs)) {
    if (use.resource == Resource::thread || use.resource == Resource::descriptors) continue;
    capacity[std::string(name_of(use.resource))] += use.has * (use.estimated ? doubt : 1);
  }
  // Not known: then nothing is refused for it.
  capacity.try_emplace("memory", 1e15);
  return capacity;
}

std::vector<NodeAmounts> camera_ways(const LoadedConfig& loaded, const Machine& machine, const MachineCosts& costs,
                                     const KnownStreams& streams) {
  const CameraConfig& camera = loaded.rig.cameras.at(0);
  if (!camera.enabled) return {};
  std::vector<NodeAmounts> ways;
  const auto add_way = [&](const Machine& on, const MachineCosts& with) {
    const GpuFindings found = check_gpus(loaded, on);
    if (!found.mistakes.empty() || !found.conditions.empty()) return;  // it names a device that is not there
    try {
      NodeAmounts way = amounts_of(loaded.rig.cameras, on, with, streams);
      if (ways.empty() || ways.front() != way) ways.push_back(std::move(way));
    } catch (const Error&) {  // or workers that only other cameras bring
    }
  };
  add_way(machine, costs);
  if (machine.devices.gpus.empty()) return ways;
  Machine without = machine;
  without.devices.gpus.clear();
  MachineCosts of_cores = costs;
  of_cores.gpus.clear();
  add_way(without, of_cores);
  return ways;
}

}  // namespace campipe
