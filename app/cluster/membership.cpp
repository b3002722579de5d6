#include "app/cluster/membership.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "core/error.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

// One member that does not answer leaves time for the next one, and the supervisor waits for 2 s.
constexpr auto leave_time = 1500ms;
constexpr auto first_join_wait = 100ms;
constexpr auto longest_join_wait = 2s;

}  // namespace

Membership::Membership(Options options, NodeOffer offer)
    : options_(std::move(options)),
      changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      instance_(offer.instance),
      node_(offer.node),
      join_wait_(first_join_wait, longest_join_wait),
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

MembershipState Membership::last_state() const {
  const std::lock_guard lock(mutex_);
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

NodeOffer Membership::take_offer() {
  const std::lock_guard lock(mutex_);
  offer_is_new_ = false;
  return offer_;
}

bool Membership::offer_is_new() const {
  const std::lock_guard lock(mutex_);
  return offer_is_new_;
}

void Membership::write_offer_again() {
  const std::lock_guard lock(mutex_);
  offer_is_new_ = true;
}

void Membership::set_state(const MembershipState& state) {
  const std::lock_guard lock(mutex_);
  if (state == state_) return;
  state_ = state;
  constexpr std::uint64_t one = 1;
  static_cast<void>(::write(changed_.get(), &one, sizeof one));
}

void Membership::sleep_until(Clock::time_point due, bool for_offer) {
  std::unique_lock lock(mutex_);
  wakeup_.wait_until(lock, stop_, due, [&] { return for_offer && offer_is_new_; });
}

Clock::duration Membership::join_wait(int tried) {
  if (tried == 0) join_wait_.reset();
  return join_wait_.next(false);
}

void Membership::run(const std::stop_token& stop) {
  stop_ = stop;
  client_ = std::make_unique<EtcdClient>(options_.servers, stop);
  LeaseKeeper keeper(options_.keys, options_.ttl, node_, instance_, *this);
  keeper.run();
  EtcdClient last(options_.servers);  // the other one has been stopped
  last.set_deadline(Clock::now() + leave_time);
  keeper.leave(last);
}

}  // namespace campipe
