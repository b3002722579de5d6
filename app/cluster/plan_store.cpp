#include "app/cluster/plan_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/cluster/etcd_client.h"
#include "app/cluster/json_take.h"
#include "app/cluster/node_offer.h"
#include "app/cluster/value_limits.h"
#include "core/cut_text.h"

namespace campipe {
namespace {

using Values = std::map<std::string, std::string>;  // cameras, and what is to be written of them

std::string write_pointer(const StoredPlan& plan) {
  nlohmann::json json = plan.other;
  json["schema"] = oldest_cluster_schema;
  json["generation"] = plan.generation;
  json["epoch"] = plan.epoch;
  return json.dump();
}

bool take_pointer(const std::string& value, StoredPlan& plan) {
  nlohmann::json json = parse_shallow(value);
  const bool good = take_schema(json) && take(json, "generation", plan.generation) && take(json, "epoch", plan.epoch) &&
                    plan.generation <= highest_generation;
  plan.other = std::move(json);
  return good;
}

// "7/dock" → 7 and "dock".
std::optional<std::pair<std::uint64_t, std::string>> split_plan_key(std::string_view below) {
  std::uint64_t number = 0;
  const auto result = std::from_chars(below.data(), below.data() + below.size(), number);
  const auto slash = static_cast<std::size_t>(result.ptr - below.data());
  const bool is_generation = result.ec == std::errc{} && below.front() != '0' && number <= highest_generation;
  if (!is_generation || slash >= below.size() || below[slash] != '/') return std::nullopt;
  return std::pair(number, std::string(below.substr(slash + 1)));
}

CameraAssignment settle(const StoredPlan& stored, const std::string& camera, CameraAssignment wanted) {
  wanted.epoch = stored.epoch;
  wanted.revision = 0;
  wanted.reason.resize(cut_at(wanted.reason, longest_etcd_text));
  const auto old = stored.cameras.find(camera);
  if (old == stored.cameras.end()) return wanted;
  wanted.other = old->second.assignment.other;
  const bool stays = old->second.assignment.node == wanted.node && old->second.fence.epoch == stored.epoch;
  if (stays) wanted.revision = old->second.fence.revision;
  return wanted;
}

PlanWriteResult failed(const EtcdError& error) {
  switch (error.failure) {
    case EtcdFailure::unknown:
      return {PlanWritten::unknown, error.message};
    case EtcdFailure::no_space:
      return {PlanWritten::failed,
              "etcd is full (NOSPACE), so no camera can be assigned anew: compact and defragment it, "
              "and disarm the alarm (" +
                  error.message + ")"};
    default:
      return {PlanWritten::failed, error.message};
  }
}

// A transaction of the planner's, and why it was not carried out.
PlanWriteResult commit(EtcdRequests& etcd, EtcdTxn txn, const Candidacy& candidacy) {
  txn.compares.push_back(candidacy.holds());
  txn.otherwise.push_back(EtcdOperation::read(candidacy.key));
  const EtcdResult<EtcdTxnResult> result = etcd.txn(txn);
  if (!result) return failed(result.error());
  if (result->succeeded) return {};
  const bool holds = !result->reads.empty() && !result->reads[0].values.empty() &&
                     result->reads[0].values[0].create_revision == candidacy.create_revision;
  if (holds) return {PlanWritten::outdated, "the plan was changed meanwhile"};
  return {PlanWritten::not_planner, "this node does not plan any more"};
}

EtcdCompare is_as_read(const ClusterKeys& keys, const StoredPlan& stored) {
  return EtcdCompare::modified_at(keys.plan(), stored.revision);
}

std::optional<EtcdTxn> one_transaction(const ClusterKeys& keys, const StoredPlan& stored, const Values& changed,
                                       const std::vector<std::string>& removed) {
  if (stored.generation == 0 || changed.size() + removed.size() + 1 > most_etcd_operations) return std::nullopt;
  // The pointer is written with it, so that nobody writes who has not seen this change.
  EtcdTxn txn{{is_as_read(keys, stored)}, {EtcdOperation::put(keys.plan(), write_pointer(stored))}};
  const std::string folder = keys.generation(stored.generation);
  for (const auto& [camera, value] : changed) txn.then.push_back(EtcdOperation::put(folder + camera, value));
  for (const std::string& camera : removed) txn.then.push_back(EtcdOperation::erase(folder + camera));
  return check_size(txn).empty() ? std::optional(std::move(txn)) : std::nullopt;
}

PlanWriteResult write_generation(EtcdRequests& etcd, const ClusterKeys& keys, const Candidacy& candidacy,
                                 const StoredPlan& stored, const Values& all) {
  StoredPlan next = stored;
  next.generation = stored.generation + 1;
  while (stored.unused.contains(next.generation)) ++next.generation;
  const std::string folder = keys.generation(next.generation);
  // That generation may count already where the plan was read before the newest one was written. What an earlier
  // attempt left there may not have been seen either.
  const EtcdCompare as_read = is_as_read(keys, stored);
  PlanWriteResult result = commit(etcd, {{as_read}, {EtcdOperation::erase_prefix(folder)}}, candidacy);
  if (result.outcome != PlanWritten::done) return result;
  EtcdTxn batch{{as_read}, {}};
  std::size_t bytes = 0;
  for (auto at = all.begin(); at != all.end(); ++at) {
    EtcdOperation put = EtcdOperation::put(folder + at->first, at->second);
    const std::size_t size = put.key.size() + put.value.size();
    if (batch.then.size() == most_etcd_operations || bytes + size > largest_etcd_request) {
      result = commit(etcd, std::exchange(batch, {{as_read}, {}}), candidacy);
      if (result.outcome != PlanWritten::done) return result;
      bytes = 0;
    }
    bytes += size;
    batch.then.push_back(std::move(put));
  }
  if (!batch.then.empty()) result = commit(etcd, std::move(batch), candidacy);
  if (result.outcome != PlanWritten::done) return result;
  EtcdTxn valid{{as_read}, {EtcdOperation::put(keys.plan(), write_pointer(next))}};
  if (stored.generation != 0) valid.then.push_back(EtcdOperation::erase_prefix(keys.generation(stored.generation)));
  for (const std::uint64_t number : stored.unused) {
    if (valid.then.size() == most_etcd_operations) break;
    valid.then.push_back(EtcdOperation::erase_prefix(keys.generation(number)));
  }
  return commit(etcd, std::move(valid), candidacy);
}

// That a newer version has written it, rather than nobody: an object with a schema that is not known here.
bool is_newer(const std::string& value) {
  nlohmann::json json = parse_shallow(value);
  int schema = 0;
  return json.is_object() && take(json, "schema", schema) && schema > newest_cluster_schema;
}

constexpr auto bad_epoch =
    "the plan in etcd has an epoch that is more than a day ahead of this machine's clock, so what runs goes on, and "
    "nothing is planned here: set the clock; where that is right, `campipe cluster apply --restored FILE` mends the "
    "epoch";
constexpr auto bad_pointer =
    "the plan in etcd is damaged, so what runs goes on, and nothing is planned: `campipe cluster apply --restored "
    "FILE` has it planned anew";

void read_pointer(const EtcdKeyValue& pointer, StoredPlan& plan) {
  plan.revision = pointer.mod_revision;
  StoredPlan read;
  if (!take_pointer(pointer.value, read)) {
    if (is_newer(pointer.value))
      plan.unreadable.insert(pointer.key);
    else
      plan.damage = bad_pointer;
    return;
  }
  plan.generation = read.generation;
  plan.other = std::move(read.other);
  if (read.epoch > highest_epoch())
    plan.damage = bad_epoch;
  else
    plan.epoch = read.epoch;
}

std::string pointer_problem(const StoredPlan& stored) {
  if (!stored.damage.empty()) return stored.damage;
  if (stored.unreadable.empty()) return {};
  return fmt::format(
      "{} of the plan in etcd was written by a newer campipe ('{}' first): this version "
      "does not change it. Upgrade this node",
      stored.unreadable.size(), *stored.unreadable.begin());
}

}  // namespace

StoredPlan read_plan(const EtcdMirror& mirror, const ClusterKeys& keys) {
  StoredPlan plan;
  if (const EtcdKeyValue* pointer = mirror.find(keys.plan())) read_pointer(*pointer, plan);
  mirror.each_below(keys.plans(), [&](std::string_view below, const EtcdKeyValue& value) {
    const auto key = split_plan_key(below);
    if (!key) return;
    const auto& [generation, camera] = *key;
    if (generation != plan.generation) {
      plan.unused.insert(generation);
      return;
    }
    auto assignment = read_assignment(value.value);
    if (!assignment) {
      (is_newer(value.value) ? plan.unreadable : plan.damaged).insert(value.key);
      return;
    }
    const Fence fence = fence_of(*assignment, value.mod_revision);
    plan.cameras.emplace(camera, StoredAssignment{*std::move(assignment), fence});
  });
  return plan;
}

PlanWriteResult write_plan(EtcdRequests& etcd, const ClusterKeys& keys, const Candidacy& candidacy,
                           const StoredPlan& stored, const std::map<std::string, CameraAssignment>& wanted) {
  if (std::string problem = pointer_problem(stored); !problem.empty()) return {PlanWritten::failed, std::move(problem)};
  Values all;
  Values changed;
  for (const auto& [camera, assignment] : wanted) {
    const CameraAssignment settled = settle(stored, camera, assignment);
    const std::string value = write_assignment(settled);
    const auto old = stored.cameras.find(camera);
    // The stored one says its fence or has it of its key: that is no change.
    CameraAssignment known = old == stored.cameras.end() ? CameraAssignment() : old->second.assignment;
    if (old != stored.cameras.end() && known.revision == 0) known.revision = old->second.fence.revision;
    if (old == stored.cameras.end() || known != settled) changed.emplace(camera, value);
    all.emplace(camera, value);
  }
  std::vector<std::string> removed;
  for (const auto& [camera, assignment] : stored.cameras) {
    if (!wanted.contains(camera)) removed.push_back(camera);
  }
  for (const std::string& key : stored.damaged) {
    std::string camera = key.substr(keys.generation(stored.generation).size());
    if (!wanted.contains(camera)) removed.push_back(std::move(camera));
  }
  if (stored.generation != 0 && changed.empty() && removed.empty()) return {};
  if (auto txn = one_transaction(keys, stored, changed, removed)) return commit(etcd, *std::move(txn), candidacy);
  return write_generation(etcd, keys, candidacy, stored, all);
}

PlanWriteResult raise_epoch(EtcdRequests& etcd, const ClusterKeys& keys, const StoredPlan& stored,
                            std::uint64_t utc_seconds) {
  std::string problem = stored.damage.empty() ? pointer_problem(stored) : "";
  if (!problem.empty()) return {PlanWritten::failed, std::move(problem)};
  StoredPlan next = stored;
  next.epoch = std::max(stored.epoch + 1, utc_seconds);
  for (const auto& [camera, known] : stored.cameras) next.epoch = std::max(next.epoch, known.fence.epoch + 1);
  const auto result = etcd.txn({{is_as_read(keys, stored)}, {EtcdOperation::put(keys.plan(), write_pointer(next))}});
  if (!result) return failed(result.error());
  if (!result->succeeded) return {PlanWritten::outdated, "the plan was changed meanwhile"};
  return {};
}

}  // namespace campipe
