// What the nodes of each camera take of their devices, predicted: for giving them to workers and GPUs so that each has
// about as much to do. Pure functions of configuration, machine, costs and what is known of streams.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "app/placement/rig_needs.h"
#include "core/indirect.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

struct CameraWeight {
  double cores = 0;  // for filters and encoders; decoding is the master's
  double gpu = 0;    // part of a GPU's time
};

// Nothing, where the camera alone cannot be placed.
CameraWeight weigh(const CameraConfig& camera, const Machine& machine, const MachineCosts& costs,
                   const KnownStream& stream);

// Likewise, each camera once, as long as it and its stream stay the same. A stream that is not known counts as 1080p.
class CameraWeights {
 public:
  CameraWeight of(const CameraConfig& camera, const Machine& machine, const MachineCosts& costs,
                  const KnownStreams& streams);

 private:
  struct Known {
    Indirect<CameraConfig> camera;
    KnownStream stream;
    CameraWeight weight;
  };
  std::map<std::string, Known, std::less<>> known_;
};

// As plan() without weights, but that each camera counts as much as it weighs: where campipe chooses, it is on the GPU,
// or the worker of the CPU, that has the least to do with those before it. `weights`: of each camera; empty: they count
// the same.
RigPlan plan(const RigConfig& rig, const Machine& machine, std::span<const CameraWeight> weights);
// By weights with `balance: auto`, else by number.
RigPlan balanced_plan(const RigConfig& rig, const Machine& machine, const MachineCosts& costs,
                      const KnownStreams& streams, CameraWeights& weights);
RigPlan balanced_plan(const RigConfig& rig, const Machine& machine, const MachineCosts& costs);

}  // namespace campipe
