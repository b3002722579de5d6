// What a seed means: a cluster, and what happens to it. It is a value, so that faults can be left out of it and the
// rest happens as before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cluster/assign.h"
#include "app/config/camera_config.h"
#include "tests/sim/cluster/world.h"

namespace campipe::sim {

enum class FaultKind : std::uint8_t {
  kill,        // a machine's power; it comes back
  leave,       // SIGTERM; it comes back
  stop,        // all processes of a machine (SIGSTOP)
  stop_agent,  // its process `cluster`
  stop_rig,    // its supervisor
  kill_agent,  // its process `cluster`; the supervisor starts another one
  cut,         // it reaches no etcd
  drop_in,     // answers of etcd do not arrive
  drop_out,    // requests do not
  slow_link,
  late_requests,  // some arrive after seconds
  stale_watch,
  compaction,  // what a watch misses meanwhile is gone
  leader_change,
  no_quorum,
  full,       // etcd
  backup,     // etcd is restored; a person says later that it counts
  lost_data,  // etcd; likewise
  drain,
  wish,  // somebody wants a camera on a node
  disk_full,
  cannot_run,   // a camera, on a node
  slow_source,  // of a camera, on a node
  unusable,     // a node cannot use the cluster's rig: it drains itself
  less_capacity,
  less_cameras,     // in the rig
  bad_offer,        // a node lies: its offer cannot be read
  newer_offer,      // or is of a version that nobody knows
  offer_of_nobody,  // without a lease
  candidate_of_nobody,
  effect_of_nobody,
  boast,           // an offer of more than there can be
  false_recorder,  // it says that it records what it does not
  bad_assignment,  // somebody writes into the plan
  newer_assignment,
  bad_plan,
  twin,  // another machine starts under a node's name
  count
};
const char* name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kill;
  Span at{0};
  Span lasts{0};
  std::size_t machine = 0;
  std::size_t camera = 0;
  std::uint64_t detail = 0;
  // Stops what a machine does, or what it hears.
  [[nodiscard]] bool is_of_machine() const { return kind < FaultKind::leader_change; }
  [[nodiscard]] bool is_of_etcd() const { return kind >= FaultKind::leader_change && kind <= FaultKind::lost_data; }
};

struct CameraSpec {
  std::string name;
  int priority = 50;
  std::vector<Amounts> ways;
  OnPartition on_partition = OnPartition::keep;
  bool pushes = false;
  std::string unit{};
};

struct Scenario {
  std::uint64_t seed = 0;
  std::vector<Amounts> capacity;    // of each machine
  std::vector<bool> runs_the_last;  // `on_etcd_missing: run`, of each
  std::vector<CameraSpec> cameras;
  std::vector<Fault> faults;
  Span faults_end{0};
  Span end{0};
};

Scenario make_scenario(std::uint64_t seed);
std::string describe(const Fault& fault);

}  // namespace campipe::sim
