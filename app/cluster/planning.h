// The elected node's planning, on a thread of its own: a plan is written with requests that may take seconds where etcd
// is in trouble, and what a node does with its own cameras must not wait for that.
//
// It works on the newest snapshot that it was given; what is given meanwhile replaces one that waits. fd() is readable
// once there is something to take(). All functions from the agent's thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/cluster/cluster_planner.h"
#include "core/unique_handle.h"

namespace campipe {

class Planning {
 public:
  // Throws Error as EtcdClient does. `lease`: the nodes'.
  Planning(EtcdServers servers, ClusterKeys keys, Clock::duration lease);
  ~Planning();
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

  struct Snapshot {
    Candidacy candidacy;  // of this node, which is elected
    EtcdMirror mirror;
    std::vector<ClusterCamera> cameras;  // of the rig
  };
  void plan(Snapshot snapshot);
  // This node is not elected any more: nothing is written, and nothing remembered.
  void rest();

  struct Result {
    std::vector<ClusterPlanner::Move> moves{};  // that are in etcd now, since the last call
    std::set<std::string> waited_for{};         // nodes
    std::string problem{};                      // why the plan is not as it should be; empty: it is
  };
  Result take();
  [[nodiscard]] int fd() const { return done_.get(); }

 private:
  void run(const std::stop_token& stop);
  void carry_out(const Snapshot& snapshot, EtcdClient& client);

  EtcdServers servers_;
  ClusterKeys keys_;
  Clock::duration lease_;
  UniqueFd done_;
  // The thread's own.
  std::optional<ClusterPlanner> planner_;
  Candidacy planner_is_;  // for which it remembers
  std::optional<Clock::time_point> look_again_;

  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::optional<Snapshot> next_;
  bool rest_ = false;
  Result result_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
