// The plan in etcd: which camera is assigned to which node. It lies in a generation of keys, and one pointer key says
// which generation counts. A change that fits one transaction is made in it; a larger one is written as a new
// generation, which counts all at once when the pointer names it. So nobody ever sees half of a plan, and whoever dies
// in between has changed nothing.
//
// Each transaction compares the writer's Candidacy, and the pointer's revision: who is no planner any more, or has not
// seen the plan as it is, changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/assignment.h"
#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_mirror.h"
#include "app/cluster/etcd_requests.h"
#include "app/cluster/membership_state.h"

namespace campipe {

struct StoredAssignment {
  CameraAssignment assignment;
  Fence fence;
};

struct StoredPlan {
  std::uint64_t generation = 0;                     // 0: there is no plan yet
  std::uint64_t epoch = 1;                          // of new assignments
  std::int64_t revision = 0;                        // the pointer's
  nlohmann::json other = nlohmann::json::object();  // the pointer's fields that this version does not know
  std::map<std::string, StoredAssignment> cameras{};
  std::set<std::uint64_t> unused{};  // generations that do not count: a writer died, or writes now
  // What this version cannot read, so that it must not plan: a newer one has written it.
  std::set<std::string> unreadable{};
  // Assignments that are none of any version. The next plan replaces them.
  std::set<std::string> damaged{};
  std::string damage{};  // of the plan's own key, which is of no version: nothing is planned until raise_epoch()
};

StoredPlan read_plan(const EtcdMirror& mirror, const ClusterKeys& keys);

enum class PlanWritten : std::uint8_t {
  done,         // or there was nothing to change
  not_planner,  // this node does not plan any more; nothing counts that it wrote
  outdated,     // the plan has changed since it was read: read and plan again
  unknown,      // no answer came: read and plan again
  failed        // etcd cannot be written to at the moment, or at all: nothing was changed. The message says why
};
struct PlanWriteResult {
  PlanWritten outcome = PlanWritten::done;
  std::string message{};
};

// Makes the plan that is stored the wanted one. Of `wanted`, what the fence is made of is not read: a camera that stays
// on its node keeps its fence. It takes at most the time of a few requests for each hundred cameras.
PlanWriteResult write_plan(EtcdRequests& etcd, const ClusterKeys& keys, const Candidacy& candidacy,
                           const StoredPlan& stored, const std::map<std::string, CameraAssignment>& wanted);

// After etcd was restored from a backup: from now on assignments are newer than all that any node has seen, also those
// that are not in the backup. `utc_seconds`: now; an epoch of an older backup may have been used before.
PlanWriteResult raise_epoch(EtcdRequests& etcd, const ClusterKeys& keys, const StoredPlan& stored,
                            std::uint64_t utc_seconds);

}  // namespace campipe
