// Rigs that are invented, for tests of what is planned, and machines for them.
#pragma once

#include <optional>
#include <string>

#include "app/config/rig_config.h"
#include "app/placement/graph.h"
#include "tests/unit/invented_machines.h"

namespace campipe {

inline RigConfig rig_of(int cameras, std::optional<int> workers = std::nullopt) {
  RigConfig rig;
  for (int i = 0; i < cameras; ++i) rig.cameras.emplace_back().name = "cam" + std::to_string(i);
  rig.worker_count = workers;
  return rig;
}

// Without servers.
inline RigConfig quiet_rig_of(int cameras, std::optional<int> workers = std::nullopt) {
  RigConfig rig = rig_of(cameras, workers);
  rig.server.http_address.clear();
  rig.server.rtsp_address.clear();
  return rig;
}

inline OutputConfig& add_output(CameraConfig& camera, const std::string& name, const std::string& codec = "h264") {
  OutputConfig& output = camera.outputs.emplace_back();
  output.name = name;
  output.encode.codec = codec;
  return output;
}

inline Graph graph_of(const RigConfig& rig, const Machine& machine) {
  return make_graph(rig, plan(rig, machine), machine.devices);
}

}  // namespace campipe
