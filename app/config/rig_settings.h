// What a rig has besides its cameras (its keys: app/config/keys/rig.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/config/cluster_config.h"
#include "app/config/mps.h"
#include "app/config/server_config.h"

namespace campipe {

// What becomes of cameras that need more than the machine has (docs/capacity.md).
enum class Admission : std::uint8_t { warn, refuse };

// Whether cameras go over from workers that are late to others that have room (docs/operations.md).
enum class Balance : std::uint8_t { automatic, off };

struct RigSettings {
  std::optional<int> worker_count;  // none: auto
  Mps mps = Mps::off;
  Admission admission = Admission::warn;
  Balance balance = Balance::automatic;
  std::string events;  // a file that gets a line of JSON for each event; empty: events.jsonl, where a camera has motion
  std::optional<unsigned> umask;         // of all processes; none: as started, and nothing for others
  std::optional<ClusterConfig> cluster;  // none: this machine is a rig of its own
  ServerConfig server;
};

}  // namespace campipe
