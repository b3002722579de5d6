// What a rig does now, as the API reports it (docs/api.md): the report's fields for each camera, with what happened in
// the last seconds in place of what happened in all its life.
#pragma once

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/supervisor/rig/cameras.h"
#include "app/supervisor/show/overload_watch.h"
#include "app/supervisor/show/report.h"
#include "app/supervisor/show/status_graph.h"
#include "core/clock.h"

namespace campipe {

class RigPage;

struct ProcessStatus {
  std::string role;
  pid_t pid = 0;
  unsigned restarts = 0;
  std::string gpu;
  double cpu_s = 0;                          // with those that died
  double memory_mib = 0;                     // with its part of what is shared
  std::optional<double> restarts_in_s = {};  // it has died, and waits for that; it has no pid
};

struct RigStatus {
  std::string config;
  double uptime_s = 0;
  std::string state;
  std::vector<ProcessStatus> processes;
  nlohmann::json lost_gpus;  // LostGpus::status()
  nlohmann::json resources;  // what the rig takes of the machine: uses_json()
  nlohmann::json cluster;    // ClusterControl::status()
};

// Used by the supervisor's thread, about once a second.
class StatusJson {
 public:
  // Passes outputs' latencies on to the publisher, too (ipc/latencies.h).
  nlohmann::json make(const RigStatus& rig, const Cameras& cameras, const RigPage& page);

 private:
  // As it was at the last calls, so that latencies are of one to two seconds' frames.
  struct Sample {
    std::string name = {};  // whose: ids are used again
    Clock::time_point at = {};
    std::uint64_t encoded = 0;
    bool any = false;  // a frame has come
    Latencies before = {};
    Latencies last = {};
    double fps = 0;
  };
  Latencies newest(const Camera& camera, const Output& output, const RigPage& page);
  void refine(nlohmann::json& json, const Camera& camera, const Output& output, const RigPage& page,
              const FrameCounts& counts) const;

  std::map<OutputId, Sample> samples_;
  OverloadWatch overloads_;
  StatusGraph graphs_;
};

}  // namespace campipe
