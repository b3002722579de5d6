#include "app/cluster/lease_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/log.h"
#include "core/printable.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 500ms;             // at who has the name
constexpr std::size_t most_given_back = 1000;  // older ones have ended by themselves
constexpr auto offer_time = 300ms;             // an offer is not written so shortly before a keep-alive

}  // namespace

LeaseKeeper::LeaseKeeper(ClusterKeys keys, std::chrono::seconds ttl, std::string node, std::string instance,
                         LeasePort& port)
    : keys_(std::move(keys)), ttl_(ttl), node_(std::move(node)), instance_(std::move(instance)), port_(port) {}

MembershipState LeaseKeeper::member(std::string problem) const {
  return {Stage::member, lease_, clock_.effects_end(), candidacy_, std::move(problem)};
}

void LeaseKeeper::report(std::string problem) {
  MembershipState next = port_.last_state();
  next.problem = std::move(problem);
  port_.set_state(next);
}

void LeaseKeeper::run() {
  while (!port_.is_ending()) {
    join();
    if (!port_.is_ending()) keep();
  }
}

void LeaseKeeper::join() {
  lease_ = 0;
  int tried = 0;
  while (!port_.is_ending()) {
    const bool is_free = wait_for_name();
    if (lease_ != 0) return;
    if (is_free) {
      const EtcdResult<EtcdLease> lease = port_.etcd().grant(ttl_);
      if (!lease) {
        const bool full = lease.error().failure == EtcdFailure::no_space;
        report(
            full ? "etcd is full (NOSPACE) and grants no leases, so this node cannot join: compact and defragment it, "
                   "and disarm the alarm (" +
                       lease.error().message + ")"
                 : lease.error().message);
      } else {
        lease_ = lease->id;
        clock_ = LeaseClock();
        clock_.sent(lease->sent);
        clock_.answered(lease->sent, lease->ttl);
        const NodeOffer offer = port_.take_offer();
        if (offer.draining) port_.write_offer_again();  // it joins as a candidate, too, and withdraws that at once
        if (put_offer_and_candidacy(write_offer(offer))) return port_.set_state(member());
        give_back();
      }
    }
    port_.sleep_until(port_.now() + port_.join_wait(tried++), false);
  }
}

// Where no answer comes, it ends by itself, or by that request when it comes. So it is never taken over.
void LeaseKeeper::give_back() {
  given_back_.push_back(lease_);
  if (given_back_.size() > most_given_back) given_back_.pop_front();
  static_cast<void>(port_.etcd().revoke(lease_));
  lease_ = 0;
}

// True: nobody has it, as far as is known. Who has it may be dead, and then loses it with its lease; a lease that is
// prolonged again and again has somebody who lives. Once may be etcd itself, when its leader changes.
bool LeaseKeeper::wait_for_name() {
  const Deadline until = port_.now() + 3 * ttl_;
  std::optional<std::chrono::seconds> left;
  int prolonged = 0;
  while (!port_.is_ending()) {
    const EtcdResult<EtcdRange> found = port_.etcd().read(keys_.node(node_));
    if (!found) {
      report(found.error().message);
      return false;
    }
    if (found->values.empty()) return true;
    const EtcdKeyValue& value = found->values[0];
    if (value.lease == 0) {
      remove_leftover(value);
      return false;
    }
    const auto offer = read_offer(node_, value.value);
    if (std::ranges::find(given_back_, value.lease) != given_back_.end()) {
      static_cast<void>(port_.etcd().revoke(value.lease));
      return false;
    }
    if (offer && offer->instance == instance_) {
      take_over(value);
      return false;
    }
    const auto now_left = port_.etcd().time_to_live(value.lease);
    if (now_left && *now_left && left && **now_left > *left) ++prolonged;
    if (now_left) left = *now_left;
    if (prolonged >= 2 || port_.now() > until) {
      port_.set_state(
          {Stage::name_taken,
           0,
           {},
           {},
           fmt::format("another campipe runs as node '{}' of this cluster{}: give this one another name "
                       "(cluster.node), or end the other",
                       node_, offer && !offer->address.empty() ? ", at " + printable(offer->address) : "")});
      return false;
    }
    port_.sleep_until(port_.now() + look_again, false);
  }
  return false;
}

// This start has written the offer: by a request whose answer did not come, or in a process before this one. If etcd
// does not answer, the next look decides.
void LeaseKeeper::take_over(const EtcdKeyValue& offer) {
  const std::string candidate = keys_.planner(node_);
  const EtcdResult<EtcdRange> found = port_.etcd().read(candidate);
  if (!found) return;
  const auto kept = port_.etcd().keep_alive(offer.lease);
  if (!kept || !*kept) return;
  lease_ = offer.lease;
  offer_created_ = offer.create_revision;
  // A node that drains itself has withdrawn its candidacy. renew_offer() restores it if the node may plan again.
  const bool is_candidate = !found->values.empty() && found->values[0].lease == lease_;
  candidacy_ = {candidate, is_candidate ? found->values[0].create_revision : 0};
  clock_ = LeaseClock();
  clock_.sent((*kept)->sent);
  clock_.answered((*kept)->sent, (*kept)->ttl);
  port_.write_offer_again();
  port_.set_state(member());
}

bool LeaseKeeper::put_offer_and_candidacy(const std::string& offer) {
  const std::string node = keys_.node(node_);
  candidacy_.key = keys_.planner(node_);
  const EtcdResult<EtcdTxnResult> joined = port_.etcd().txn(
      {{EtcdCompare::absent(node), EtcdCompare::absent(candidacy_.key)},
       {EtcdOperation::put(node, offer, lease_), EtcdOperation::put(candidacy_.key, candidate(), lease_)}});
  if (!joined) {
    report(joined.error().message);
    return joined.error().failure == EtcdFailure::unknown && find_own();
  }
  if (!joined->succeeded) {
    const EtcdResult<EtcdRange> found = port_.etcd().read(candidacy_.key);
    if (found && !found->values.empty() && found->values[0].lease == 0) remove_leftover(found->values[0]);
  }
  offer_created_ = candidacy_.create_revision = joined->header.revision;
  return joined->succeeded;
}

// An offer or a candidacy without a lease, which stays for ever: nobody's, and in the way.
void LeaseKeeper::remove_leftover(const EtcdKeyValue& left) {
  spdlog::warn("cluster: {} has no lease, so it is nobody's: it is removed from etcd", left.key);
  static_cast<void>(
      port_.etcd().txn({{EtcdCompare::created_at(left.key, left.create_revision)}, {EtcdOperation::erase(left.key)}}));
}

std::string LeaseKeeper::candidate() const { return nlohmann::json{{"schema", 1}, {"instance", instance_}}.dump(); }

// Whether a transaction without an answer was carried out.
bool LeaseKeeper::find_own() {
  const EtcdResult<EtcdRange> found = port_.etcd().read(candidacy_.key);
  if (!found || found->values.empty() || found->values[0].lease != lease_) return false;
  offer_created_ = candidacy_.create_revision = found->values[0].create_revision;
  return true;
}

void LeaseKeeper::keep() {
  while (!port_.is_ending()) {
    const bool offer_waits = port_.offer_is_new();
    // A keep-alive waits for nothing else.
    const Clock::time_point next = clock_.next();
    if (offer_waits && port_.now() + offer_time < next) renew_offer();
    port_.sleep_until(next, !offer_waits);
    if (port_.is_ending()) return;
    if (port_.now() < next) continue;
    clock_.sent(port_.now());
    const auto kept = port_.etcd().keep_alive(lease_);
    if (kept && !*kept) {
      port_.set_state({Stage::joining, 0, {}, {}, "the lease has ended: this node was away from etcd for too long"});
      return;
    }
    if (kept) clock_.answered((*kept)->sent, (*kept)->ttl);
    port_.set_state(member(kept ? "" : kept.error().message));
  }
}

void LeaseKeeper::renew_offer() {
  const NodeOffer offer = port_.take_offer();
  const bool plans = !offer.draining;
  const std::string key = keys_.node(node_);
  EtcdTxn txn{{EtcdCompare::created_at(key, offer_created_)}, {EtcdOperation::put(key, write_offer(offer), lease_)}};
  const bool was_candidate = candidacy_.create_revision != 0;
  if (was_candidate && !plans) txn.then.push_back(EtcdOperation::erase(candidacy_.key));
  if (!was_candidate && plans) txn.then.push_back(EtcdOperation::put(candidacy_.key, candidate(), lease_));
  txn.then.push_back(EtcdOperation::read(candidacy_.key));
  port_.etcd().set_deadline(clock_.next());
  const EtcdResult<EtcdTxnResult> written = port_.etcd().txn(txn);
  port_.etcd().set_deadline(std::nullopt);
  if (written && written->succeeded && !written->reads.empty()) {
    const auto& found = written->reads[0].values;
    candidacy_.create_revision = found.empty() ? 0 : found[0].create_revision;
    return port_.set_state(member());
  }
  // Also where it is not known whether it was written: it is the same the second time. If the offer is gone, so is
  // the lease, and the next keep-alive will say so.
  report(written ? "this node's offer is gone from etcd" : written.error().message);
  port_.write_offer_again();
}

void LeaseKeeper::leave(EtcdRequests& etcd) const {
  if (lease_ != 0) static_cast<void>(etcd.revoke(lease_));  // else it ends by itself
}

}  // namespace campipe
