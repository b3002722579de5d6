#include "app/placement/camera_weights.h"

#include "app/config/rig_config.h"
#include "app/placement/capacity.h"
#include "core/error.h"

namespace campipe {

CameraWeight weigh(const CameraConfig& camera, const Machine& machine, const MachineCosts& costs,
                   const KnownStream& stream) {
  RigConfig rig;
  rig.cameras.push_back(camera);
  rig.cameras.back().source.pace = Pace::realtime;  // of what is as fast as it can be nothing is predicted
  CameraWeight weight;
  try {
    const RigNeeds needs = find_needs(rig, plan(rig, machine), machine.devices, costs, {{camera.name, stream}});
    weight.cores = needs.cores.filter + needs.cores.encode + needs.cores.rest;
    for (const GpuNeeds& gpu : needs.gpus) weight.gpu += gpu.busy;
  } catch (const Error&) {
    return {};  // it names places that come with other cameras
  }
  return weight;
}

CameraWeight CameraWeights::of(const CameraConfig& camera, const Machine& machine, const MachineCosts& costs,
                               const KnownStreams& streams) {
  const KnownStream stream = expected_stream(camera, streams);
  const auto found = known_.find(camera.name);
  if (found != known_.end() && found->second.stream == stream && *found->second.camera == camera)
    return found->second.weight;
  if (known_.size() >= 2 * most_cameras) known_.clear();  // most are of names that are gone
  const CameraWeight weight = weigh(camera, machine, costs, stream);
  known_.insert_or_assign(camera.name, Known{camera, stream, weight});
  return weight;
}

RigPlan balanced_plan(const RigConfig& rig, const Machine& machine, const MachineCosts& costs,
                      const KnownStreams& streams, CameraWeights& weights) {
  if (rig.balance == Balance::off) return plan(rig, machine);
  std::vector<CameraWeight> all;
  for (const CameraConfig& camera : rig.cameras) all.push_back(weights.of(camera, machine, costs, streams));
  return plan(rig, machine, all);
}

RigPlan balanced_plan(const RigConfig& rig, const Machine& machine, const MachineCosts& costs) {
  CameraWeights weights;
  return balanced_plan(rig, machine, costs, {}, weights);
}

}  // namespace campipe
