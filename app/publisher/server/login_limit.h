// Failed logins, by where they come from: the fifth costs a wait of 1 s, each further one of 2, 4 … 60 s, until nothing
// failed for a quarter of an hour. An IPv6 address counts as its network of 64 bits, which one house has.
// Used under its owner's lock.
#pragma once

#include <map>
#include <string>

#include "core/clock.h"

namespace campipe {

// What counts as one place: an IPv4 address, or an IPv6 network ("2001:db8:1:2::/64").
std::string network_of(const std::string& address);

class LoginLimit {
 public:
  // Until it may try again; 0: at once.
  [[nodiscard]] int wait_s(const std::string& address, Clock::time_point now) const;
  // While it waits that changes nothing: further attempts make no wait longer, and fills no log.
  void failed(const std::string& address, Clock::time_point now);
  // While an address waits, what is remembered of a user may still be asked for: its right passwords come in, and five
  // others are looked up for each user.
  [[nodiscard]] bool may_ask_memory(const std::string& address, const std::string& user) const;
  void forgot(const std::string& address, const std::string& user);

 private:
  struct Failures {
    int count = 0;
    Clock::time_point last;
    Clock::time_point until;           // refused before it
    std::map<std::string, int> asked;  // in vain, by user, since then
  };
  std::map<std::string, Failures> networks_;
};

}  // namespace campipe
