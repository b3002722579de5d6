// Hundreds of nodes with real leases, of which the elected one plans; for the size of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/lease_keeper.h"
#include "app/cluster/plan_maker.h"
#include "app/cluster/plan_store.h"
#include "tests/sim/cluster/node_link.h"
#include "tests/sim/cluster/sim_lease.h"

namespace campipe::sim {

// A node that has a lease and an offer, and obeys the plan at once.
class LargeNode final : private SimLease {
 public:
  LargeNode(World& world, ModelEtcd& etcd, const ClusterKeys& keys, std::chrono::seconds ttl, NodeOffer offer);
  ~LargeNode() override { process_.kill(); }

  Process& process() { return process_; }
  NodeLink& link() { return *link_; }
  [[nodiscard]] MembershipState membership() const { return last_state(); }
  void set_offer(NodeOffer offer) { offer_anew(std::move(offer)); }
  [[nodiscard]] const NodeOffer& offered() const { return current_offer(); }

 private:
  Clock::duration join_wait(int tried) override;

  World& world_;
  Process process_;
  std::shared_ptr<NodeLink> link_ = std::make_shared<NodeLink>();
  LinkRequests requests_;
  LeaseKeeper keeper_;
  Fiber fiber_;
};

class LargeCluster {
 public:
  static constexpr std::chrono::seconds ttl{5};

  LargeCluster(std::uint64_t seed, int nodes, int cameras);
  ~LargeCluster();
  void run_for(Span time) { world_.run_until(world_.now() + time); }

  void kill(std::size_t node) { nodes_.at(node).reset(); }
  void start(std::size_t node);
  void cut(std::size_t node, bool is_cut);
  void stop(std::size_t node, bool is_stopped);
  void offer(std::size_t node, const Amounts& capacity);
  void spoil_offer(std::size_t node);

  [[nodiscard]] Time now() const { return world_.now(); }
  [[nodiscard]] const EtcdMirror& keys() const { return etcd_.keys(); }
  [[nodiscard]] const ClusterKeys& names() const { return keys_; }
  [[nodiscard]] const std::vector<ClusterCamera>& cameras() const { return cameras_; }
  [[nodiscard]] StoredPlan plan() const { return read_plan(etcd_.keys(), keys_); }
  [[nodiscard]] std::map<std::string, std::string> places() const;
  [[nodiscard]] std::set<std::string> without_node() const;
  [[nodiscard]] std::set<std::string> on_nodes_that_are_away() const;
  // Cameras that were planned to go from one node to another one, since the last call.
  std::size_t take_moves() { return std::exchange(moves_, 0); }

 private:
  void keep_planning();

  World world_;
  ModelEtcd etcd_;
  ClusterKeys keys_{"large"};
  std::vector<ClusterCamera> cameras_;
  std::vector<std::unique_ptr<LargeNode>> nodes_;
  std::size_t moves_ = 0;
  bool has_changed_ = true;
  PlanMaker maker_{keys_, ttl};
  Process planner_;
  LinkRequests requests_;
  Fiber fiber_;
};

}  // namespace campipe::sim
