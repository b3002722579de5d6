#include "app/publisher/server/http/places.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "app/publisher/server/login_limit.h"

namespace campipe {
namespace {

constexpr std::size_t most_kept_back = 64;

}  // namespace

HttpPlaces::Place::Place(HttpPlaces& all, const std::string& address, bool proxy, std::function<void()> end)
    : all_(all), end_(std::move(end)), peer_(network_of(address)), proxy_(proxy), network_(peer_) {
  all_.places_.insert(this);
}

HttpPlaces::Place::~Place() { all_.places_.erase(this); }

void HttpPlaces::Place::idle() {
  use_ = Use::idle;
  since_ = Clock::now();
}

void HttpPlaces::Place::judge() { use_ = Use::judged; }

bool HttpPlaces::Place::answer(const Identity& identity, const std::string& address) {
  known_ = identity.kind > Identity::Kind::visitor;
  since_ = Clock::now();
  network_ = network_of(address);
  holder_ = known_ ? "user " + identity.user : "at " + network_;
  if (identity.administers()) {
    use_ = Use::administrator;
    return true;
  }
  use_ = identity.kind == Identity::Kind::unknown ? Use::stranger : Use::guest;
  const auto is_its = [this](const Place& one) { return one.network_ == network_ && one.use_ != Use::administrator; };
  const bool is_many = proxy_ && network_ == peer_;
  const bool has_half = !is_many && all_.count(is_its) > std::max<std::size_t>(all_.limits_.connections / 2, 1);
  const auto is_other = [&](const Place& one) { return &one != this && is_its(one); };
  if (has_half && !all_.make_way(is_other)) return false;
  const auto is_guest = [](const Place& one) { return one.use_ == Use::guest; };
  if (use_ != Use::guest || all_.count(is_guest) <= all_.most_guests()) return true;
  return all_.take_from_who_has_most(*this);
}

std::size_t HttpPlaces::most_guests() const {
  return limits_.connections - std::min(limits_.connections / 16, most_kept_back);
}

bool HttpPlaces::make_room_for(const std::string& address, bool proxy) {
  const std::string network = network_of(address);
  const auto is_its = [&](const Place& one) { return one.network_ == network; };
  const auto is_idle = [&](const Place& one) { return is_its(one) && one.use_ == Place::Use::idle; };
  if (!proxy && count(is_idle) >= limits_.idle_of_an_address)
    end_first(is_idle, [](const Place& one) { return std::pair(one.known_, one.since_); });
  const auto is_any = [](const Place& /*one*/) { return true; };
  return count(is_any) < limits_.connections || make_way(is_any);
}

template <typename Predicate>
std::size_t HttpPlaces::count(const Predicate& fits) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(places_, [&](const Place* one) { return one->use_ != Place::Use::none && fits(*one); }));
}

// Idle ones of strangers first, where there are most of them, then strangers' answers, then the idle ones of users.
template <typename Predicate>
bool HttpPlaces::make_way(const Predicate& fits) {
  std::map<std::string, int> idle;
  const auto is_unknown = [](const Place& one) { return one.use_ == Place::Use::idle && !one.known_; };
  for (const Place* one : places_) {
    if (is_unknown(*one)) ++idle[one->network_];
  }
  const auto gives_way = [&](const Place& one) {
    return (one.use_ == Place::Use::idle || one.use_ == Place::Use::stranger) && fits(one);
  };
  return end_first(gives_way, [&](const Place& one) {
    if (is_unknown(one)) return std::tuple(0, -idle[one.network_], one.since_);
    return std::tuple(one.use_ == Place::Use::stranger ? 1 : 2, 0, one.since_);
  });
}

template <typename Predicate, typename Rank>
bool HttpPlaces::end_first(const Predicate& fits, const Rank& rank) {
  Place* first = nullptr;
  for (Place* one : places_) {
    if (one->use_ == Place::Use::none || !fits(*one)) continue;
    if (first == nullptr || rank(*one) < rank(*first)) first = one;
  }
  if (first != nullptr) {
    first->leave();
    first->end_();
  }
  return first != nullptr;
}

bool HttpPlaces::take_from_who_has_most(const Place& guest) {
  std::map<std::string, std::size_t> counts;
  for (const Place* one : places_) {
    if (one->use_ == Place::Use::guest) ++counts[one->holder_];
  }
  // As many as the newcomer has with this one is no more than that.
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (most->second <= counts[guest.holder_]) return false;
  const auto is_of_most = [&](const Place& one) { return one.use_ == Place::Use::guest && one.holder_ == most->first; };
  return end_first(is_of_most, [](const Place& one) { return -one.since_.time_since_epoch().count(); });  // newest
}

}  // namespace campipe
