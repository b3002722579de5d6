#include "tests/sim/cluster/model_etcd.h"

#include <algorithm>
#include <set>
#include <utility>

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;

constexpr Span look_at_leases = 250ms;  // etcd looks every 500 ms

EtcdError no_leader() { return {EtcdFailure::unavailable, "no leader"}; }
EtcdError no_space() { return {EtcdFailure::no_space, "database space exceeded"}; }

}  // namespace

ModelEtcd::ModelEtcd(World& world) : world_(world) {
  keys_.apply({true, {}, 1});
  end_leases();
}

EtcdResult<EtcdRange> ModelEtcd::read(const std::string& key) const {
  if (!has_leader_) return no_leader();
  EtcdRange range{{revision(), history_number_ + 1}, {}};
  if (const EtcdKeyValue* found = keys_.find(key)) range.values.push_back(*found);
  return range;
}

bool ModelEtcd::holds(const EtcdCompare& compare) const {
  const EtcdKeyValue* found = keys_.find(compare.key);
  const std::int64_t is = found == nullptr                                 ? 0
                          : compare.of == EtcdCompare::Of::create_revision ? found->create_revision
                                                                           : found->mod_revision;
  return is == compare.revision;
}

EtcdResult<EtcdTxnResult> ModelEtcd::txn(const EtcdTxn& txn) {
  if (!has_leader_) return no_leader();
  const bool succeeded = std::ranges::all_of(txn.compares, [&](const auto& each) { return holds(each); });
  const auto& operations = succeeded ? txn.then : txn.otherwise;
  const auto is_put = [](const EtcdOperation& each) { return each.kind == EtcdOperation::Kind::put; };
  if (is_full_ && std::ranges::any_of(operations, is_put)) return no_space();
  for (const EtcdOperation& each : operations) {
    if (is_put(each) && each.lease != 0 && !leases_.contains(each.lease))
      return EtcdError{EtcdFailure::no_lease, "requested lease not found"};
  }
  if (succeeded && on_txn_) on_txn_(txn);
  const std::int64_t next = revision() + 1;
  std::vector<EtcdEvent> events;
  for (const EtcdOperation& each : operations) {
    const EtcdKeyValue* found = keys_.find(each.key);
    if (is_put(each)) {
      const bool is_new = found == nullptr;
      events.push_back({false,
                        {each.key, each.value, is_new ? next : found->create_revision, next,
                         is_new ? 1 : found->version + 1, each.lease}});
    } else if (each.kind == EtcdOperation::Kind::erase && each.whole_prefix) {
      keys_.each_below(each.key, [&](std::string_view, const EtcdKeyValue& value) {
        events.push_back({true, {value.key, "", 0, next}});
      });
    } else if (each.kind == EtcdOperation::Kind::erase && found != nullptr) {
      events.push_back({true, {each.key, "", 0, next}});
    }
  }
  if (!events.empty()) change(std::move(events));
  EtcdTxnResult result{{revision(), history_number_ + 1}, succeeded};
  for (const EtcdOperation& each : operations) {
    if (each.kind == EtcdOperation::Kind::read) result.reads.push_back(*read(each.key));
  }
  return result;
}

void ModelEtcd::change(std::vector<EtcdEvent> events) {
  history_.insert(history_.end(), events.begin(), events.end());
  const std::int64_t next = revision() + 1;
  keys_.apply({false, std::move(events), next});
  if (on_change_) on_change_();
}

EtcdResult<std::int64_t> ModelEtcd::grant(std::chrono::seconds ttl) {
  if (!has_leader_) return no_leader();
  if (is_full_) return no_space();
  leases_[++next_lease_] = {ttl, world_.now() + ttl};
  return next_lease_;
}

EtcdResult<std::optional<std::chrono::seconds>> ModelEtcd::keep_alive(std::int64_t lease) {
  if (!has_leader_) return no_leader();
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return std::optional<std::chrono::seconds>();
  found->second.ends = world_.now() + found->second.ttl;
  return std::optional(found->second.ttl);
}

EtcdResult<std::optional<std::chrono::seconds>> ModelEtcd::time_to_live(std::int64_t lease) const {
  if (!has_leader_) return no_leader();
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return std::optional<std::chrono::seconds>();
  return std::optional(std::chrono::duration_cast<std::chrono::seconds>(found->second.ends - world_.now()));
}

EtcdResult<bool> ModelEtcd::revoke(std::int64_t lease) {
  if (!has_leader_) return no_leader();
  const bool was_there = leases_.contains(lease);
  if (was_there) end_lease(lease);
  return was_there;
}

void ModelEtcd::put(const std::string& key, const std::string& value, std::int64_t lease) {
  const EtcdKeyValue* found = keys_.find(key);
  const std::int64_t next = revision() + 1;
  change({{false, {key, value, found == nullptr ? next : found->create_revision, next, 1, lease}}});
}

void ModelEtcd::erase(const std::string& key) {
  if (keys_.find(key) != nullptr) change({{true, {key, "", 0, revision() + 1}}});
}

void ModelEtcd::set_leader(bool is_there) {
  if (std::exchange(has_leader_, is_there) || !is_there) return;
  for (auto& [id, lease] : leases_) lease.ends = world_.now() + lease.ttl;
}

void ModelEtcd::end_lease(std::int64_t lease) {
  leases_.erase(lease);
  std::vector<EtcdEvent> events;
  for (const auto& [key, value] : keys_.values()) {
    if (value.lease == lease) events.push_back({true, {key, "", 0, revision() + 1}});
  }
  if (!events.empty()) change(std::move(events));
}

void ModelEtcd::end_leases() {
  world_.at(world_.now() + look_at_leases, [this] { end_leases(); });
  if (!has_leader_) return;
  std::vector<std::int64_t> over;
  for (const auto& [id, lease] : leases_) {
    if (lease.ends <= world_.now()) over.push_back(id);
  }
  for (const std::int64_t id : over) end_lease(id);
}

void ModelEtcd::save_backup() { backup_ = {keys_, leases_}; }

void ModelEtcd::restore_backup() {
  if (!backup_) return;
  Backup old = *backup_;
  for (auto& [id, lease] : old.leases) lease.ends = world_.now() + lease.ttl;
  replace(std::move(old.keys), std::move(old.leases));
}

void ModelEtcd::lose_data() {
  EtcdMirror empty;
  empty.apply({true, {}, 1});
  replace(std::move(empty), {});
}

void ModelEtcd::replace(EtcdMirror keys, std::map<std::int64_t, Lease> leases) {
  keys_ = std::move(keys);
  leases_ = std::move(leases);
  history_.clear();
  ++history_number_;
  if (on_change_) on_change_();
}

std::optional<EtcdNews> ModelEtcd::next(Position& position, bool is_compacted) const {
  const bool is_anew = position.revision == 0 || position.history != history_number_ || is_compacted;
  if (!is_anew && position.revision >= revision()) return std::nullopt;
  EtcdNews news{is_anew, {}, revision()};
  if (is_anew) {
    for (const auto& [key, value] : keys_.values()) news.events.push_back({false, value});
  } else {
    const auto first = std::ranges::upper_bound(history_, position.revision, {},
                                                [](const EtcdEvent& event) { return event.value.mod_revision; });
    news.events.assign(first, history_.end());
  }
  position = {revision(), history_number_};
  return news;
}

}  // namespace campipe::sim
