// A node's place in its cluster: a lease, and under it the node's offer and its candidacy as planner. A thread of its
// own keeps it, so that nothing else that the program does can let it go:
//
//   joining     the offer is not in etcd, and this node has no part in the cluster
//   member      it is. As long as `effects_end` is ahead, no other node does what this one does
//   name_taken  another start has the node's name and is alive: this one must not run. It is looked at again, since the
//               other may go
//
// LeaseKeeper is what the thread does. A keep-alive is sent every third of the lease's time. A node whose lease
// has expired (its machine slept, etcd was away for longer) joins with a new lease. The caller decides which cameras go
// on meanwhile.
//
// fd() is readable after each change, until state() was called. All functions from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_client.h"
#include "app/cluster/lease_keeper.h"
#include "app/cluster/membership_state.h"
#include "app/cluster/node_offer.h"
#include "core/retry_wait.h"
#include "core/unique_handle.h"

namespace campipe {

class Membership : private LeasePort {
 public:
  struct Options {
    EtcdServers servers;
    ClusterKeys keys;
    std::chrono::seconds ttl{5};
  };

  // Throws Error as EtcdClient does. `offer` has its node and a new instance; or that of a process that died, whose
  // lease this one takes over if it still lives.
  Membership(Options options, NodeOffer offer);
  // Leaves the cluster at once, so that the others need not wait for the lease to end; 1.5 s at most. Whoever still
  // does something for the cluster ends that first.
  ~Membership() override;
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  [[nodiscard]] int fd() const { return changed_.get(); }
  MembershipState state();
  // What is offered from now on; the same node and instance. One that drains itself does not plan.
  void set_offer(NodeOffer offer);

 private:
  void run(const std::stop_token& stop);
  EtcdRequests& etcd() override { return *client_; }
  [[nodiscard]] Clock::time_point now() const override { return Clock::now(); }
  [[nodiscard]] bool is_ending() const override { return stop_.stop_requested(); }
  void sleep_until(Clock::time_point due, bool for_offer) override;
  Clock::duration join_wait(int tried) override;
  NodeOffer take_offer() override;
  [[nodiscard]] bool offer_is_new() const override;
  void write_offer_again() override;
  [[nodiscard]] MembershipState last_state() const override;
  void set_state(const MembershipState& state) override;

  Options options_;
  UniqueFd changed_;
  std::string instance_;
  std::string node_;
  // The thread's own.
  std::unique_ptr<EtcdClient> client_;
  std::stop_token stop_;
  RetryWait join_wait_;

  mutable std::mutex mutex_;
  std::condition_variable_any wakeup_;
  NodeOffer offer_;
  bool offer_is_new_ = false;
  MembershipState state_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
