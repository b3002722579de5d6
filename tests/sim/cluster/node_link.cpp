#include "tests/sim/cluster/node_link.h"

#include <algorithm>
#include <utility>

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;

constexpr Span answer_time = 2s;  // of EtcdClient
constexpr Span shortest_way = 200us;
constexpr Span longest_way = 12ms;
constexpr Span latest = 4s;             // that a request arrives
constexpr Span connection_lasts = 2s;   // without answers
constexpr Span longest_reconnect = 2s;  // of a watch

}  // namespace

Span LinkRequests::one_way() { return process_.world().random().between(shortest_way, longest_way) + link_->slow; }

template <typename Act>
auto LinkRequests::ask(EtcdFailure without_answer, Act act) -> decltype(act()) {
  using Result = decltype(act());
  World& world = process_.world();
  const Time end = std::min(world.now() + answer_time, until_.value_or(Time::max()));
  const bool is_cut = !link_->out && !link_->in;
  auto answer = std::make_shared<std::optional<Result>>();
  const bool is_late = link_->late && world.random().one_in(3);
  const Span there = one_way() + (is_late ? world.random().between(Span{0}, latest) : Span{0});
  const Span back = one_way();
  // Also where who asked is dead by then: what has been sent is carried out.
  const auto arrive = [&world, link = link_, wake = fiber_->waker(), answer, act, back] {
    const bool has_connection = link->in || world.now() < link->in_lost_at + connection_lasts;
    if (!link->out || !has_connection) return;
    Result result = act();
    if (!link->in) return;
    world.at(world.now() + back, [answer, wake, result = std::move(result)] {
      *answer = result;
      wake();
    });
  };
  if (!is_cut) world.at(world.now() + there, arrive);
  while (!*answer && world.now() < end) fiber_->wait_until(end);
  if (*answer) return **answer;
  return EtcdError{is_cut ? EtcdFailure::unavailable : without_answer, "no answer came in time"};
}

EtcdResult<EtcdRange> LinkRequests::read(const std::string& key) {
  return ask(EtcdFailure::unavailable, [etcd = &etcd_, key] { return etcd->read(key); });
}

EtcdResult<EtcdTxnResult> LinkRequests::txn(const EtcdTxn& txn) {
  return ask(EtcdFailure::unknown, [etcd = &etcd_, txn] { return etcd->txn(txn); });
}

EtcdResult<EtcdLease> LinkRequests::grant(std::chrono::seconds ttl) {
  const Time sent = process_.world().now();
  return ask(EtcdFailure::unknown, [etcd = &etcd_, ttl, sent]() -> EtcdResult<EtcdLease> {
    const auto id = etcd->grant(ttl);
    if (!id) return id.error();
    return EtcdLease{*id, ttl, sent};
  });
}

EtcdResult<std::optional<EtcdLease>> LinkRequests::keep_alive(std::int64_t lease) {
  const Time sent = process_.world().now();
  return ask(EtcdFailure::unavailable, [etcd = &etcd_, lease, sent]() -> EtcdResult<std::optional<EtcdLease>> {
    const auto ttl = etcd->keep_alive(lease);
    if (!ttl) return ttl.error();
    if (!*ttl) return std::optional<EtcdLease>();
    return std::optional(EtcdLease{lease, **ttl, sent});
  });
}

EtcdResult<std::optional<std::chrono::seconds>> LinkRequests::time_to_live(std::int64_t lease) {
  return ask(EtcdFailure::unavailable, [etcd = &etcd_, lease] { return etcd->time_to_live(lease); });
}

EtcdResult<bool> LinkRequests::revoke(std::int64_t lease) {
  return ask(EtcdFailure::unavailable, [etcd = &etcd_, lease] { return etcd->revoke(lease); });
}

LinkWatch::LinkWatch(Process& process, ModelEtcd& etcd, std::shared_ptr<NodeLink> link, std::function<void()> on_news)
    : process_(process), etcd_(etcd), link_(std::move(link)), on_news_(std::move(on_news)) {}

void LinkWatch::look() {
  World& world = process_.world();
  const bool is_open = link_->out && link_->in && etcd_.has_leader();
  if (!is_open) {
    if (!std::exchange(is_broken_, true)) connects_at_ = world.now();
    connects_at_ = std::max(connects_at_, world.now() + world.random().between(Span{0}, longest_reconnect));
    return;
  }
  if (is_asked_ || link_->watch_is_stale || world.now() < connects_at_) return;
  is_broken_ = false;
  const ModelEtcd::Position before = position_;
  auto news = etcd_.next(position_, std::exchange(link_->is_compacted, false));
  if (!news) return;
  is_asked_ = true;
  // What is under way is as old as it is when it comes.
  process_.soon(world.random().between(shortest_way, longest_way) + link_->slow,
                [this, before, news = *std::move(news)] { get(before, news); });
}

void LinkWatch::get(ModelEtcd::Position before, const EtcdNews& news) {
  is_asked_ = false;
  if (link_->out && link_->in && !link_->watch_is_stale && etcd_.has_leader()) {
    news_.push_back(news);
    on_news_();
  } else {
    position_ = before;
  }
  look();
}

}  // namespace campipe::sim
