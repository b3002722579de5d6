// The elected node's planning, on a thread of its own: a plan is written with requests that may take seconds where etcd
// is in trouble, and what a node does with its own cameras must not wait for that.
//
// It works on the newest snapshot that it was given; what is given meanwhile replaces one that waits. fd() is readable
// once there is something to take(). All functions from the agent's thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "app/cluster/etcd_client.h"
#include "app/cluster/plan_maker.h"
#include "core/unique_handle.h"

namespace campipe {

class Planning {
 public:
  // Throws Error as EtcdClient does. `lease`: the nodes'.
  Planning(EtcdServers servers, ClusterKeys keys, Clock::duration lease);
  ~Planning();
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

  void plan(PlanSnapshot snapshot);
  // This node is not elected any more: nothing is written, and nothing remembered.
  void rest();

  // Since the last call.
  PlanMade take();
  [[nodiscard]] int fd() const { return done_.get(); }

 private:
  void run(const std::stop_token& stop);

  EtcdServers servers_;
  UniqueFd done_;
  PlanMaker maker_;  // the thread's own

  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::optional<PlanSnapshot> next_;
  bool rest_ = false;
  PlanMade result_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
