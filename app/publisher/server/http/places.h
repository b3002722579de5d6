// The places that connections of HTTP take, and who gives one up where they become scarce. Of the serving thread.
//
// What does nothing gives way first: an address's own where it has many, then that of the address with most; then what
// answers strangers, who may take their answers as slowly as they like. What is answered to others is weighed by whose
// it is: an address has half of the places at most, and where all are taken, who has most of them gives one to who has
// fewer, and gets no further one. Some are kept for those who are not known yet and for administrators, who always come
// in.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "app/publisher/server/access.h"
#include "app/publisher/server/http/server.h"
#include "core/clock.h"

namespace campipe {

class HttpPlaces {
 public:
  class Place;

  explicit HttpPlaces(const HttpLimits& limits) : limits_(limits) {}

  // Whether one more may come in from there; for that, another may have to go. `proxy`: for many others.
  bool make_room_for(const std::string& address, bool proxy);

 private:
  [[nodiscard]] std::size_t most_guests() const;
  template <typename Predicate>
  std::size_t count(const Predicate& fits) const;
  template <typename Predicate>
  bool make_way(const Predicate& fits);
  template <typename Predicate, typename Rank>
  bool end_first(const Predicate& fits, const Rank& rank);
  bool take_from_who_has_most(const Place& guest);

  const HttpLimits limits_;
  std::set<Place*> places_;
};

// One connection's, from its beginning to its end.
class HttpPlaces::Place {
 public:
  // `address`: the peer's; `end`: ends the connection.
  Place(HttpPlaces& all, const std::string& address, bool proxy, std::function<void()> end);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // It waits for a request, which may be on its way.
  void idle();
  // It has one, and looks who sent it.
  void judge();
  // It is answered, from now until idle(). `address`: for whom, where it came by a proxy. False: there is no room.
  bool answer(const Identity& identity, const std::string& address);
  // It is at its end, and takes no place any more.
  void leave() { use_ = Use::none; }
  // For whom the answer is: the user, or where there is none, from where.
  [[nodiscard]] const std::string& holder() const { return holder_; }

 private:
  friend class HttpPlaces;
  enum class Use : std::uint8_t { idle, judged, stranger, guest, administrator, none };

  HttpPlaces& all_;
  const std::function<void()> end_;
  const std::string peer_;  // an IPv6 address stands for its network
  const bool proxy_;
  std::string network_;  // for whom it asks: the peer, or one behind it
  Use use_ = Use::idle;
  Clock::time_point since_ = Clock::now();
  bool known_ = false;  // its last request was of a user who logged in
  std::string holder_;  // see holder()
};

}  // namespace campipe
