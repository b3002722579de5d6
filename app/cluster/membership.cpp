#include "app/cluster/membership.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/retry_wait.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 500ms;  // at who has the name
// One member that does not answer leaves time for the next one, and the supervisor waits for 2 s.
constexpr auto leave_time = 1500ms;

}  // namespace

Membership::Membership(Options options, NodeOffer offer)
    : options_(std::move(options)),
      changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      instance_(offer.instance),
      node_(offer.node),
      offer_(std::move(offer)) {
  if (!changed_) throw system_error("eventfd", errno);
  static_cast<void>(EtcdClient(options_.servers));  // so that what is wrong with them is known here
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Membership::~Membership() = default;

MembershipState Membership::state() {
  std::uint64_t ignored = 0;
  const std::lock_guard lock(mutex_);
  static_cast<void>(::read(changed_.get(), &ignored, sizeof ignored));
  return state_;
}

void Membership::set_offer(NodeOffer offer) {
  const std::lock_guard lock(mutex_);
  offer.node = node_;
  offer.instance = instance_;
  if (offer == offer_) return;
  offer_ = std::move(offer);
  offer_is_new_ = true;
  wakeup_.notify_all();
}

void Membership::set_state(const MembershipState& state) {
  const std::lock_guard lock(mutex_);
  if (state == state_) return;
  state_ = state;
  constexpr std::uint64_t one = 1;
  static_cast<void>(::write(changed_.get(), &one, sizeof one));
}

void Membership::report(std::string problem) {
  MembershipState next;
  {
    const std::lock_guard lock(mutex_);
    next = state_;
  }
  next.problem = std::move(problem);
  set_state(next);
}

void Membership::sleep_until(Clock::time_point due, const std::stop_token& stop, bool for_offer) {
  std::unique_lock lock(mutex_);
  wakeup_.wait_until(lock, stop, due, [&] { return for_offer && offer_is_new_; });
}

void Membership::run(const std::stop_token& stop) {
  client_ = std::make_unique<EtcdClient>(options_.servers, stop);
  while (!stop.stop_requested()) {
    join(stop);
    if (!stop.stop_requested()) keep(stop);
  }
  leave();
}

void Membership::join(const std::stop_token& stop) {
  RetryWait wait(100ms, 2s);
  lease_ = 0;
  while (!stop.stop_requested()) {
    const bool is_free = wait_for_name(stop);
    if (lease_ != 0) return;
    if (is_free) {
      const EtcdResult<EtcdLease> lease = client_->grant(options_.ttl);
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
        std::string offer;
        {
          const std::lock_guard lock(mutex_);
          offer = write_offer(offer_);
          offer_is_new_ = offer_.draining;  // who drains itself joins as a candidate, too, and withdraws that at once
        }
        if (put_offer_and_candidacy(offer)) {
          set_state({Stage::member, lease_, clock_.effects_end(), candidacy_, {}});
          return;
        }
        static_cast<void>(client_->revoke(lease_));  // else it ends by itself
        lease_ = 0;
      }
    }
    sleep_until(Clock::now() + wait.next(false), stop, false);
  }
}

// True: nobody has it, as far as is known. Who has it may be dead, and then loses it with its lease; a lease that is
// prolonged again and again has somebody who lives. Once may be etcd itself, when its leader changes.
bool Membership::wait_for_name(const std::stop_token& stop) {
  const Deadline until = Clock::now() + 3 * options_.ttl;
  std::optional<std::chrono::seconds> left;
  int prolonged = 0;
  while (!stop.stop_requested()) {
    const EtcdResult<EtcdRange> found = client_->read(options_.keys.node(node_));
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
    if (offer && offer->instance == instance_) {
      take_over(value);
      return false;
    }
    const auto now_left = client_->time_to_live(value.lease);
    if (now_left && *now_left && left && **now_left > *left) ++prolonged;
    if (now_left) left = *now_left;
    if (prolonged >= 2 || Clock::now() > until) {
      set_state({Stage::name_taken,
                 0,
                 {},
                 {},
                 fmt::format("another campipe runs as node '{}' of this cluster{}: give this one another name "
                             "(cluster.node), or end the other",
                             node_, offer && !offer->address.empty() ? ", at " + printable(offer->address) : "")});
      return false;
    }
    sleep_until(Clock::now() + look_again, stop, false);
  }
  return false;
}

// It is this start's own: of a request whose answer did not come, or of a process before this one. Where etcd does not
// answer, the next look finds out.
void Membership::take_over(const EtcdKeyValue& offer) {
  const std::string candidate = options_.keys.planner(node_);
  const EtcdResult<EtcdRange> found = client_->read(candidate);
  if (!found) return;
  const auto kept = client_->keep_alive(offer.lease);
  if (!kept || !*kept) return;
  lease_ = offer.lease;
  offer_created_ = offer.create_revision;
  // One that drained itself had withdrawn it: the offer, which is written anew, brings it back where it has to be.
  const bool is_candidate = !found->values.empty() && found->values[0].lease == lease_;
  candidacy_ = {candidate, is_candidate ? found->values[0].create_revision : 0};
  clock_ = LeaseClock();
  clock_.sent((*kept)->sent);
  clock_.answered((*kept)->sent, (*kept)->ttl);
  {
    const std::lock_guard lock(mutex_);
    offer_is_new_ = true;
  }
  set_state({Stage::member, lease_, clock_.effects_end(), candidacy_, {}});
}

bool Membership::put_offer_and_candidacy(const std::string& offer) {
  const std::string node = options_.keys.node(node_);
  candidacy_.key = options_.keys.planner(node_);
  const EtcdResult<EtcdTxnResult> joined = client_->txn(
      {{EtcdCompare::absent(node), EtcdCompare::absent(candidacy_.key)},
       {EtcdOperation::put(node, offer, lease_), EtcdOperation::put(candidacy_.key, candidate(), lease_)}});
  if (!joined) {
    report(joined.error().message);
    return joined.error().failure == EtcdFailure::unknown && find_own();
  }
  if (!joined->succeeded) {
    const EtcdResult<EtcdRange> found = client_->read(candidacy_.key);
    if (found && !found->values.empty() && found->values[0].lease == 0) remove_leftover(found->values[0]);
  }
  offer_created_ = candidacy_.create_revision = joined->header.revision;
  return joined->succeeded;
}

// An offer or a candidacy without a lease, which stays for ever: nobody's, and in the way.
void Membership::remove_leftover(const EtcdKeyValue& left) {
  spdlog::warn("cluster: {} has no lease, so it is nobody's: it is removed from etcd", left.key);
  static_cast<void>(
      client_->txn({{EtcdCompare::created_at(left.key, left.create_revision)}, {EtcdOperation::erase(left.key)}}));
}

std::string Membership::candidate() const { return nlohmann::json{{"schema", 1}, {"instance", instance_}}.dump(); }

// Whether a transaction without an answer was carried out.
bool Membership::find_own() {
  const EtcdResult<EtcdRange> found = client_->read(candidacy_.key);
  if (!found || found->values.empty() || found->values[0].lease != lease_) return false;
  offer_created_ = candidacy_.create_revision = found->values[0].create_revision;
  return true;
}

void Membership::keep(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool offer_waits = false;
    {
      const std::lock_guard lock(mutex_);
      offer_waits = offer_is_new_;
    }
    // A keep-alive waits for nothing else.
    const Clock::time_point next = clock_.next();
    if (offer_waits && Clock::now() + 300ms < next) renew_offer();
    sleep_until(next, stop, !offer_waits);
    if (stop.stop_requested()) return;
    if (Clock::now() < next) continue;
    clock_.sent(Clock::now());
    const auto kept = client_->keep_alive(lease_);
    if (kept && !*kept) {
      set_state({Stage::joining, 0, {}, {}, "the lease has ended: this node was away from etcd for too long"});
      return;
    }
    if (kept) clock_.answered((*kept)->sent, (*kept)->ttl);
    set_state({Stage::member, lease_, clock_.effects_end(), candidacy_, kept ? "" : kept.error().message});
  }
}

void Membership::renew_offer() {
  std::string offer;
  bool plans = false;
  {
    const std::lock_guard lock(mutex_);
    offer = write_offer(offer_);
    plans = !offer_.draining;
    offer_is_new_ = false;
  }
  const std::string key = options_.keys.node(node_);
  EtcdTxn txn{{EtcdCompare::created_at(key, offer_created_)}, {EtcdOperation::put(key, offer, lease_)}};
  const bool was_candidate = candidacy_.create_revision != 0;
  if (was_candidate && !plans) txn.then.push_back(EtcdOperation::erase(candidacy_.key));
  if (!was_candidate && plans) txn.then.push_back(EtcdOperation::put(candidacy_.key, candidate(), lease_));
  txn.then.push_back(EtcdOperation::read(candidacy_.key));
  client_->set_deadline(clock_.next());
  const EtcdResult<EtcdTxnResult> written = client_->txn(txn);
  client_->set_deadline(std::nullopt);
  if (written && written->succeeded && !written->reads.empty()) {
    const auto& found = written->reads[0].values;
    candidacy_.create_revision = found.empty() ? 0 : found[0].create_revision;
    set_state({Stage::member, lease_, clock_.effects_end(), candidacy_, {}});
    return;
  }
  // Also where it is not known whether it was written: it is the same the second time. If the offer is gone, so is
  // the lease, and the next keep-alive will say so.
  report(written ? "this node's offer is gone from etcd" : written.error().message);
  const std::lock_guard lock(mutex_);
  offer_is_new_ = true;
}

void Membership::leave() {
  if (lease_ == 0) return;
  EtcdClient last(options_.servers);  // the other one has been stopped
  last.set_deadline(Clock::now() + leave_time);
  static_cast<void>(last.revoke(lease_));  // else it ends by itself
}

}  // namespace campipe
