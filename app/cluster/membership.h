// A node's place in its cluster: a lease, and under it the node's offer and its candidacy as planner. A thread of its
// own keeps it, so that nothing else that the program does can let it go:
//
//   joining     the offer is not in etcd, and this node has no part in the cluster
//   member      it is. As long as `effects_end` is ahead, no other node does what this one does
//   name_taken  another start has the node's name and is alive: this one must not run. It is looked at again, since the
//               other may go
//
// A keep-alive is sent every third of the lease's time. A node whose lease died (its machine slept, etcd was away for
// longer) joins anew, with another lease; what it may go on with meanwhile is decided by who uses this class.
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
#include "app/cluster/lease_clock.h"
#include "app/cluster/node_offer.h"
#include "core/unique_handle.h"

namespace campipe {

// The right to plan. Writes that compare it fail once it is lost.
struct Candidacy {
  std::string key;
  std::int64_t create_revision = 0;

  [[nodiscard]] EtcdCompare holds() const { return EtcdCompare::created_at(key, create_revision); }
  friend bool operator==(const Candidacy&, const Candidacy&) = default;
};

struct MembershipState {
  enum class Stage : std::uint8_t { joining, member, name_taken };
  Stage stage = Stage::joining;
  std::int64_t lease = 0;           // of a member
  Clock::time_point effects_end{};  // of a member: by when what must not happen twice has to end
  Candidacy candidacy{};            // of a member; revision 0: it does not plan
  std::string problem{};            // of etcd, or why it is not a member; for people, with what to do
  friend bool operator==(const MembershipState&, const MembershipState&) = default;
};

class Membership {
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
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  [[nodiscard]] int fd() const { return changed_.get(); }
  MembershipState state();
  // What is offered from now on; the same node and instance. One that drains itself does not plan.
  void set_offer(NodeOffer offer);

 private:
  using Stage = MembershipState::Stage;

  void run(const std::stop_token& stop);
  void join(const std::stop_token& stop);
  bool wait_for_name(const std::stop_token& stop);
  void take_over(const EtcdKeyValue& offer);
  bool put_offer_and_candidacy(const std::string& offer);
  [[nodiscard]] std::string candidate() const;
  bool find_own();
  void remove_leftover(const EtcdKeyValue& left);
  void keep(const std::stop_token& stop);
  void renew_offer();
  void leave();
  void set_state(const MembershipState& state);
  void report(std::string problem);
  void sleep_until(Clock::time_point due, const std::stop_token& stop, bool for_offer);

  Options options_;
  UniqueFd changed_;
  std::string instance_;
  std::string node_;
  // The thread's own.
  std::unique_ptr<EtcdClient> client_;
  LeaseClock clock_;
  std::int64_t lease_ = 0;
  std::int64_t offer_created_ = 0;
  Candidacy candidacy_;

  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  NodeOffer offer_;
  bool offer_is_new_ = false;
  MembershipState state_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
