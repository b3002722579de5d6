// How a node joins its cluster, keeps its lease and leaves: what the thread of a Membership does. It waits in requests
// and sleeps, all of which go through a LeasePort: a thread's own, or that of a simulation, which runs this code in
// virtual time (tests/sim/cluster). One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_requests.h"
#include "app/cluster/lease_clock.h"
#include "app/cluster/membership_state.h"
#include "app/cluster/node_offer.h"

namespace campipe {

class LeasePort {
 public:
  virtual ~LeasePort() = default;

  virtual EtcdRequests& etcd() = 0;
  [[nodiscard]] virtual Clock::time_point now() const = 0;
  [[nodiscard]] virtual bool is_ending() const = 0;
  // Returns early when it ends; `for_offer`: also when the offer is another one.
  virtual void sleep_until(Clock::time_point due, bool for_offer) = 0;
  // How long to wait before joining is tried again, for the so-manieth time in a row.
  virtual Clock::duration join_wait(int tried) = 0;

  // What the node offers now: the offer is written from then on, until it is another one.
  virtual NodeOffer take_offer() = 0;
  // The offer in etcd is not, or may not be, what the node offers.
  [[nodiscard]] virtual bool offer_is_new() const = 0;
  virtual void write_offer_again() = 0;
  [[nodiscard]] virtual MembershipState last_state() const = 0;
  virtual void set_state(const MembershipState& state) = 0;
};

class LeaseKeeper {
 public:
  // `instance`: of this start of the node; or that of a process that died, whose lease this one takes over if it still
  // lives.
  LeaseKeeper(ClusterKeys keys, std::chrono::seconds ttl, std::string node, std::string instance, LeasePort& port);

  // Joins and keeps the lease, again and again, until the port is ending.
  void run();
  // Ends the lease at once, by other requests than those that were stopped.
  void leave(EtcdRequests& etcd) const;

 private:
  using Stage = MembershipState::Stage;

  void join();
  void give_back();
  bool wait_for_name();
  void take_over(const EtcdKeyValue& offer);
  bool put_offer_and_candidacy(const std::string& offer);
  [[nodiscard]] std::string candidate() const;
  bool find_own();
  void remove_leftover(const EtcdKeyValue& left);
  void keep();
  void renew_offer();
  void report(std::string problem);
  [[nodiscard]] MembershipState member(std::string problem = {}) const;

  ClusterKeys keys_;
  std::chrono::seconds ttl_;
  std::string node_;
  std::string instance_;
  LeasePort& port_;
  LeaseClock clock_;
  std::int64_t lease_ = 0;
  std::deque<std::int64_t> given_back_;  // the newest leases that a request which is still under way may revoke
  std::int64_t offer_created_ = 0;
  Candidacy candidacy_;
};

}  // namespace campipe
