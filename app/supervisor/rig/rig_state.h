// The room `rig` owns what the others share: the configuration, the rig's page, the cameras with their outputs, edges
// and nodes, their groups, what was counted, and how far the run is. It is data with the rules that hold for it; it
// starts nothing and sends nothing. It includes no other room. All may call it but `port`.
//
// What the parts of the supervisor share: the rig as it is configured, its cameras, its page, and how far the run is.
// Used by the supervisor's thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "app/control/known_stream.h"
#include "app/placement/camera_weights.h"
#include "app/placement/machine_costs.h"
#include "app/placement/plan.h"
#include "app/supervisor/rig/cameras.h"
#include "app/supervisor/rig/sync_groups.h"
#include "core/clock.h"
#include "core/indirect.h"
#include "ipc/rig_page.h"

namespace campipe {

struct RigConfig;
struct RigSettings;

struct RunOptions {
  std::filesystem::path config;      // for reloading
  std::string text = {};             // what stands there, of a node of a cluster
  std::filesystem::path state = {};  // the folder of what such a node keeps
  std::uint64_t digest = 0;          // of what stood there, see LoadedConfig
  std::string log_level = "info";
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<std::filesystem::path> report;
};

// draining: no source delivers any more, what was decoded still goes all the way. leaving: processes end.
enum class RunPhase : std::uint8_t { running, draining, leaving };

struct RigState {
  RunOptions options;
  Indirect<RigConfig> config;  // as it was read last; its cameras are as they were at the start
  Machine machine;
  RigPage page;
  Cameras cameras;
  SyncGroups groups = {};
  MachineCosts costs = {};                 // as they were known at the start
  KnownStreams streams = {};               // of cameras whose source has been opened
  CameraWeights weights = {};              // remembers what it has computed
  std::optional<std::string> events = {};  // the file for events
  // Of a node of a cluster: its cameras' newest fences, which their files are named by.
  std::map<std::string, std::string> fences = {};

  RunPhase phase = RunPhase::running;
  Clock::time_point started = Clock::now();
  bool files_closed = false;           // by force, while draining
  Clock::time_point next_tick = {};    // of the supervisor's loop; earlier where something has changed
  Clock::time_point next_status = {};  // likewise, of the status for the publisher's servers

  [[nodiscard]] const RigSettings& settings() const;  // those of its configuration
  // A node of a cluster keeps its files in a folder of its own, since several nodes may run on one machine.
  [[nodiscard]] std::filesystem::path cluster_folder() const;
  // The process `cluster` writes the cluster's rig to this file.
  [[nodiscard]] std::filesystem::path cluster_rig_file() const { return cluster_folder() / "rig.yaml"; }
};

}  // namespace campipe
