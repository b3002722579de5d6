// The first message to every process (app/control/messages/parts.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/cluster_config.h"
#include "app/config/server_config.h"
#include "app/control/messages/parts.h"
#include "core/gpu.h"

namespace campipe::messages {

// The first one. The descriptors: the rig's shared page, and the process's own.
struct Setup {
  static constexpr std::string_view type = "setup";
  static constexpr DescriptorCount descriptors{2, 2};
  std::string role;  // "worker 0", for its log
  ProcessId process;
  std::optional<ServerConfig> server;    // for the publisher
  std::optional<ClusterConfig> cluster;  // likewise, of a node
  std::string log_level;
  Device gpu;                // that a worker, or a master, works on
  std::vector<Device> sees;  // the GPUs that CUDA shows it
  int numa_node = -1;
  std::vector<unsigned> cpus;  // empty: not pinned
  static void fields(auto& m, auto&& f) {
    f("role", m.role), f("process", m.process), f("server", m.server), f("cluster", m.cluster),
        f("log_level", m.log_level), f("gpu", m.gpu), f("sees", m.sees), f("numa_node", m.numa_node), f("cpus", m.cpus);
  }
};

}  // namespace campipe::messages
